// SPDX-License-Identifier: BSD-3-Clause
// Worker: what a worker process of a Master knows about itself: its place, the sockets it accepts from, and when it has
// to leave. The master makes the Worker in the forked child. Only the thread that runs the master's Work function may
// use it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/net/server.h>

namespace peal {

struct ListeningSocket {
  std::string name;     // the name that Master::listen() was given
  Fd fd;                // to be passed to Server::listen(fd, shared)
  bool shared = false;  // true if other workers accept from this socket, too
};

// How a worker is asked to leave. The master asks by a signal; any other process that may send one can ask as well.
enum class Leave : uint8_t {
  kDrain,     // SIGTERM: the service or this worker ends, so requests in progress are finished and no more accepted
  kMakeRoom,  // SIGHUP: other workers serve already, so clients may stay until they are done, for at most drain_time()
  kAtOnce,    // SIGINT, SIGQUIT: the worker ends without waiting for its clients
};

class Worker {
 public:
  struct Facts {
    size_t place = 0;         // 0 to count - 1; a replacement gets the place, and the sockets, of its predecessor
    size_t count = 1;         // number of workers in this worker's generation
    uint64_t generation = 1;  // incremented by each reload
    pid_t master = 0;         // the process with which this worker dies; 0 if there is none
    Duration drain_time{};    // the time to finish connections after a request to leave; see MasterOptions
  };

  // Called by the master in the child. `report_to` is the socket over which ready() and leaving() report to the master.
  Worker(const Facts& facts, std::vector<ListeningSocket> listening, Fd report_to);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  size_t place() const { return facts_.place; }
  size_t count() const { return facts_.count; }
  uint64_t generation() const { return facts_.generation; }
  Duration drain_time() const { return facts_.drain_time; }

  // Returns the sockets that this worker accepts from: the sockets that Master::listen() named `name`, or all sockets
  // if `name` is empty. The caller owns the returned sockets, so a second call does not return them again.
  std::vector<ListeningSocket> take_listening(std::string_view name = {});
  // Calls `on_leave` on the loop's thread each time a signal asks this worker to leave, and calls leaving() before it.
  // Such signals stay blocked and pending until when_to_leave() is called. First calls die_with_master(), as ready()
  // does. Fails as Loop::on_signal() does. The loop must end before this Worker is destroyed.
  Result<void> when_to_leave(Loop& loop, CopyableCallback<void(Leave)> on_leave);
  // Reports to the master that this worker serves. To be called when the server listens on the sockets. First calls
  // die_with_master(), which exits with code 1 if the master has ended already. The master waits for this report:
  //   - of all workers of a new generation, before it asks the older workers to leave (SIGHUP), or lets the predecessor
  //     of the master leave (SIGUSR2);
  //   - of the worker that replaces a dead one, which is killed if the report does not come within start_timeout.
  void ready();
  // Asks the kernel again to kill this process when the master ends. Exits with code 1 if the master has ended already.
  // The kernel drops such a request when a process changes its user, groups or capabilities (setuid(2)). So a worker
  // that changes them after ready() must call this function again.
  void die_with_master();
  // Reports to the master that this worker will accept no more connections, whether or not the master asked it to
  // leave. The master then starts the replacement at once, and kills this worker if it has not ended after drain_time()
  // and the grace time. When this worker ends, the master counts a death (RespawnOptions) only if the exit code is not
  // 0, or if a signal other than the master's SIGKILL ended the worker. Only the first call has an effect.
  void leaving();

  // Does all that a usual worker does: `server` listens on all sockets, the master gets the ready() report, `loop`
  // runs, and leave() is called when a signal asks for it. `server` is a Server, HttpServer or similar. It runs on
  // `loop` or on the loops of a LoopGroup. Returns the worker's exit code: 0, or 1 if something failed, which is
  // logged.
  template <class AnyServer>
  int serve(Loop& loop, AnyServer& server);

  // Makes `server` listen on all sockets of this worker. Returns the address of the last socket, or the first error.
  template <class AnyServer>
  Result<SocketAddress> listen(AnyServer& server);
  // Makes this worker leave: calls leaving(), drains `server` and then stops `loop`. With kAtOnce, stops the loop
  // without draining. A second kDrain has no effect, because a SIGTERM to the whole process group arrives twice: once
  // directly and once from the master. Must be called on the loop's thread. The application may call it, too, to make
  // the worker leave without a signal.
  template <class AnyServer>
  void leave(Leave how, Loop& loop, AnyServer& server);

 private:
  int run(Loop& loop, const Result<void>& prepared);
  void log(const DrainReport& report) const;

  const Facts facts_;
  std::vector<ListeningSocket> listening_;
  const Fd report_to_;
  bool draining_ = false;
  bool reported_leaving_ = false;
};

template <class AnyServer>
int Worker::serve(Loop& loop, AnyServer& server) {
  const Result<SocketAddress> bound = listen(server);
  if (!bound) return run(loop, std::unexpected(bound.error()));
  return run(loop, when_to_leave(loop, [&](Leave how) { leave(how, loop, server); }));
}

template <class AnyServer>
Result<SocketAddress> Worker::listen(AnyServer& server) {
  Result<SocketAddress> bound;
  for (ListeningSocket& socket : take_listening()) {
    if (bound = server.listen(std::move(socket.fd), socket.shared); !bound) break;
  }
  return bound;
}

template <class AnyServer>
void Worker::leave(Leave how, Loop& loop, AnyServer& server) {
  leaving();
  if (how == Leave::kAtOnce) return loop.stop();
  if (how == Leave::kDrain && std::exchange(draining_, true)) return;
  auto done = [this, &loop](const DrainReport& report) {
    log(report);
    loop.stop();
  };
  // A server whose drain() has modes can ask its clients to end their connections (kAsk), for example by HTTP's
  // "Connection: close". When other workers serve already, the clients may end in their own time instead (kWait).
  if constexpr (requires { server.drain(drain_time(), DrainMode::kWait, done); }) {
    server.drain(drain_time(), how == Leave::kMakeRoom ? DrainMode::kWait : DrainMode::kAsk, done);
  } else {
    server.drain(drain_time(), done);
  }
}

}  // namespace peal
