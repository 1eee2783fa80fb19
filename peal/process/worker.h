// SPDX-License-Identifier: BSD-3-Clause
// Worker: what a master's worker process knows of itself: its place, the sockets it accepts from, and when to leave.
// Made by the master in the child; its function's thread alone uses it.
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
  std::string name;     // of Master::listen()
  Fd fd;                // for Server::listen(fd, shared)
  bool shared = false;  // other workers accept from it too
};

// How a worker is asked to leave; what asks it is the master, or whoever sends it the signal.
enum class Leave : uint8_t {
  kDrain,     // SIGTERM: the service ends, or so somebody wishes for this worker: finish what is under way
  kMakeRoom,  // SIGHUP: others serve already: whoever is here may stay until it is done, for drain_time() at most
  kAtOnce,    // SIGINT, SIGQUIT
};

class Worker {
 public:
  struct Facts {
    size_t place = 0;         // 0 .. count - 1; who takes a place takes its sockets
    size_t count = 1;         // workers of its generation
    uint64_t generation = 1;  // one more with each reload
    pid_t master = 0;         // whose end is this process's, too; 0: nobody's
    Duration drain_time{};    // after which the master ends it by force
  };
  // For the master: `report_to` is where it hears that a worker serves, and that it leaves.
  Worker(const Facts& facts, std::vector<ListeningSocket> listening, Fd report_to);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  size_t place() const { return facts_.place; }
  size_t count() const { return facts_.count; }
  uint64_t generation() const { return facts_.generation; }
  Duration drain_time() const { return facts_.drain_time; }

  // The sockets to accept from, of the address listened on as `name` or of all. Gives them away: the second call has
  // none.
  std::vector<ListeningSocket> take_listening(std::string_view name = {});
  // Calls `on_leave` on the loop each time it is asked to leave. Until this is called such signals are kept waiting.
  // It says leaving() first. As Loop::on_signal(), on a loop that ends before this.
  Result<void> when_to_leave(Loop& loop, CopyableCallback<void(Leave)> on_leave);
  // Tells the master that this worker serves: a reload or a replacement waits for it. Once the sockets are listened on.
  // As when_to_leave() does, first calls die_with_master().
  void ready();
  // Asks the kernel again to kill this process when the master ends; exits with 1 where it has ended already. For a
  // worker that changes its user, its groups or its capabilities (setuid(2)) after ready(): the kernel then forgets.
  void die_with_master();
  // Tells the master that this worker will accept nobody any more, whoever asked for that: another takes its place at
  // once, instead of when this one has ended, and after drain_time() it is ended by force. Its end is no death then
  // (RespawnOptions), unless it is an exit code that is not 0, or a signal. Once; later calls do nothing.
  void leaving();

  // All of it, for the usual worker: `server` (a Server, HttpServer, ...) of `loop`, or of a group beside it, listens
  // on all sockets, and drains when it is time; kAtOnce stops the loop. A second request to drain changes nothing:
  // where a whole process group is told to end, it comes from the master as well. Runs the loop. An exit code: 1 when
  // something failed, which is logged.
  template <class AnyServer>
  int serve(Loop& loop, AnyServer& server);
  // Parts of that. The address of the last socket, or the first error of one:
  template <class AnyServer>
  Result<SocketAddress> listen(AnyServer& server);
  // On the loop's thread; also for what asks by other means than a signal.
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
  // A server whose protocol can say "no more after this answer" asks; of others the clients are waited for.
  if constexpr (requires { server.drain(drain_time(), DrainMode::kWait, done); }) {
    server.drain(drain_time(), how == Leave::kMakeRoom ? DrainMode::kWait : DrainMode::kAsk, done);
  } else {
    server.drain(drain_time(), done);
  }
}

}  // namespace peal
