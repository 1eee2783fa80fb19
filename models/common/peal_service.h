// SPDX-License-Identifier: BSD-3-Clause
// The two models that use peal share this code. It counts, closes slow connections, and runs a server on one loop or on
// a group of loops.
//
// peal has deadlines of its own (ConnectionOptions::read_window and write_window). They are not used here: because they
// check each message, an echo of 64 bytes would cost two thirds more instructions. Instead, a timer of each loop checks
// the loop's connections four times per slow_timeout. The timer aborts a connection if it is in the middle of a frame
// or an answer, and has moved no byte for slow_timeout. This check costs a request nothing. A slow connection is closed
// at most a quarter of slow_timeout too late.
#pragma once

#include <list>
#include <memory>

#include <models/model_table.h>
#include <peal/loop/loop.h>
#include <peal/loop/loop_group.h>
#include <peal/net/server.h>

namespace peal::models {

class PealClient;

// The connections of one event loop. Use this object only on the loop's thread, with two exceptions:
// - Another thread may construct it.
// - Another thread may destroy it after the loop has ended.
class LoopClients {
 public:
  // Starts a timer on `loop` that closes slow connections. If `slow_timeout` is 0, starts no timer and closes no slow
  // connection.
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

// The data of one connection: its counts and the time of its last progress. The destructor adds the counts to the
// statistics.
class PealClient {
 public:
  PealClient(LoopClients& clients, Connection& connection);
  ~PealClient();
  PealClient(const PealClient&) = delete;
  PealClient& operator=(const PealClient&) = delete;

  Tally tally;
  bool in_frame = false;  // set by the model: true while only a part of a frame has arrived

 private:
  friend class LoopClients;

  // Returns true if a frame or an answer is incomplete, and no byte was received or sent for `slow_timeout`. If it
  // returns true, is_late() also counts the connection as timed out.
  bool is_late(const Connection& connection, TimePoint now, Duration slow_timeout);

  LoopClients& clients_;
  const ConnectionHandle handle_;
  std::list<PealClient*>::iterator place_;
  TimePoint moved_at_ = kNever;  // the last progress; kNever if no frame or answer is incomplete
  uint64_t moved_bytes_ = 0;
};

// The event loops of a model, one for each worker. With one worker, the loop runs on the thread that calls serve().
// With several workers, each loop runs on a thread of its own, and serve() only waits for SIGTERM or SIGINT.
class PealLoops {
 public:
  // Creates the loops. Errors:
  // - Trouble::kUnsupportedEngine: the engine in run.options is not available.
  // - EAGAIN: a thread cannot be started.
  // - EMFILE or a similar error: no fd or memory is free.
  static Result<std::unique_ptr<PealLoops>> make(const ModelRun& run);

  // Returns the LoopClients of the loop to which `connection` belongs. May be called on the thread of any loop.
  LoopClients& clients_of(const Connection& connection);
  // Calls make_server() to create a server, makes the server listen, and runs it until SIGTERM or SIGINT arrives. The
  // first argument of make_server() is the Loop if the model has one worker, otherwise the LoopGroup. The second
  // argument is the server's options.
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

  std::list<LoopClients> clients_;    // declared first, because the loops' connections use it until they end
  std::unique_ptr<Loop> loop_;        // only with one worker
  std::unique_ptr<LoopGroup> group_;  // only with several workers
};

}  // namespace peal::models
