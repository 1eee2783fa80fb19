// SPDX-License-Identifier: BSD-3-Clause
// What the two models of peal itself share: counting, who is too slow, and the life of a server on one loop or a group.
//
// peal has deadlines of its own (ConnectionOptions::read_window, write_window), which look at each message; they would
// cost an echo of 64 bytes two thirds of its instructions again. Here a timer of each loop looks at its connections
// four times in a slow_timeout: who is in the middle of something, and moved nothing for so long, is cut off. That
// costs a request nothing, and a connection is closed a quarter of the time late at most.
#pragma once

#include <list>
#include <memory>

#include <models/model_table.h>
#include <peal/loop/loop.h>
#include <peal/loop/loop_group.h>
#include <peal/net/server.h>

namespace peal::models {

class PealClient;

// The connections of one loop. On its thread but for the construction and, when the loop has ended, the destruction.
class LoopClients {
 public:
  // From when the loop runs on it closes the slow ones.
  LoopClients(Loop& loop, Statistics& statistics, Duration slow_timeout);
  LoopClients(const LoopClients&) = delete;
  LoopClients& operator=(const LoopClients&) = delete;

  const Loop& loop() const { return loop_; }

 private:
  friend class PealClient;

  void look();

  Loop& loop_;
  Statistics& statistics_;
  const Duration slow_timeout_;
  std::list<PealClient*> clients_;
};

// A connection: what it counts, added up when this is destroyed, and when it last moved.
class PealClient {
 public:
  PealClient(LoopClients& clients, Connection& connection);
  ~PealClient();
  PealClient(const PealClient&) = delete;
  PealClient& operator=(const PealClient&) = delete;

  Tally tally;
  bool in_frame = false;  // to be told: the rest of a frame is to come

 private:
  friend class LoopClients;

  // Whether it has been slow for `slow_timeout`.
  bool is_late(const Connection& connection, TimePoint now, Duration slow_timeout);

  LoopClients& clients_;
  const ConnectionHandle handle_;
  std::list<PealClient*>::iterator place_;
  TimePoint moved_at_ = kNever;  // kNever: was not in the middle of anything
  uint64_t moved_bytes_ = 0;
};

// The loops of a model: with one worker, this thread's; with more, each on a thread of its own while this one waits for
// the stop.
class PealLoops {
 public:
  // Trouble::kUnsupportedEngine, EAGAIN, EMFILE.
  static Result<std::unique_ptr<PealLoops>> make(const ModelRun& run);

  // Any of the loops' threads.
  LoopClients& clients_of(const Connection& connection);
  // Opens the server that `make_server(loop or group, options)` makes; then runs until the stop is asked.
  template <class MakeServer>
  Result<void> serve(ModelRun& run, MakeServer make_server) {
    const ServerOptions options = server_options(run.options);
    if (group_) return serve_with(run, *make_server(*group_, options));
    return serve_with(run, *make_server(*loop_, options));
  }

 private:
  PealLoops() = default;
  static ServerOptions server_options(const ModelOptions& options);
  static Server& plain(Server& server) { return server; }
  template <class CoServer>
  static Server& plain(CoServer& server) {
    return server.server();
  }
  template <class AnyServer>
  Result<void> serve_with(ModelRun& run, AnyServer& server) {
    Result<SocketAddress> bound = plain(server).listen(run.options.listen);
    if (!bound) return std::unexpected(bound.error());
    if (!run.on_listening(*bound)) return {};
    return run_until_stopped(run.stop);
  }
  Result<void> run_until_stopped(const Stop& stop);

  std::list<LoopClients> clients_;  // outlive the loops, whose connections refer to them
  std::unique_ptr<Loop> loop_;      // with one worker
  std::unique_ptr<LoopGroup> group_;
};

}  // namespace peal::models
