// SPDX-License-Identifier: BSD-3-Clause
// Engine: the one seam to the kernel. Only an engine knows epoll or io_uring, and nothing above may ask which it has.
//
// An engine is a proactor and belongs to one loop: its owner says what it wants done, the engine does it and reports
// completions through the *Events interfaces below. The rules every engine keeps:
//   - now() and waker() may be called at any time; bind(), adopt_listener() and local_address() of a listener before
//     open(), too; everything else only between open() and shut(), on the thread that called open(). The one call legal
//     from any thread is Waker::wake().
//   - No completion is ever delivered inside a call down: all come from wait() (and the last ones from shut()).
//   - Ids are generation-checked. After close(), stop() or unwatch() the id is dead: a later call with it does nothing
//     and is counted (EngineStats::stale_calls), and nothing more of it is reported but its one last completion.
//   - An *Events object must live until that last completion: on_closed, on_detached, on_accept_stopped, on_unwatched.
//     It may destroy itself inside it.
//   - A call up may make any call down, about its own stream too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>
#include <peal/engine/datagrams.h>
#include <peal/engine/stream_port.h>

namespace peal {

using ListenerId = EngineId<struct ListenerTag>;
using WatchId = EngineId<struct WatchTag>;

// The names of a network that is not the world's.
using NameTable = std::map<std::string, std::vector<SocketAddress>, std::less<>>;

class AcceptEvents {
 public:
  // A connection was accepted. It reads nothing until somebody adopts it.
  virtual void on_accepted(LooseStream stream) = 0;
  // Last completion after stop(): the listening socket is closed. Everything accepted late came before it.
  virtual void on_accept_stopped() = 0;

 protected:
  ~AcceptEvents() = default;
};

class WatchEvents {
 public:
  // The fd is ready for what was asked. An error or a hang-up counts as both, as far as both were asked; a FIN is
  // something to read and says nothing of writing. Level-triggered: told again while it stays ready.
  virtual void on_ready(bool readable, bool writable) = 0;
  // Last completion after unwatch(): the fd may be closed.
  virtual void on_unwatched() = 0;

 protected:
  ~WatchEvents() = default;
};

// Ends the engine's wait from any thread, at any time: it may outlive the engine, and then does nothing.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
};

struct ListenOptions {
  int backlog = 4096;         // listen(2); the kernel caps it at net.core.somaxconn
  bool reuse_port = false;    // SO_REUSEPORT: several listeners share one address
  bool v6_only = false;       // IPV6_V6ONLY: [::] takes IPv4 too unless told otherwise
  SocketOptions socket = {};  // set once on the listener, inherited by every accepted stream
};

// Of a socket that listens already.
struct AdoptOptions {
  SocketOptions socket = {};
  bool shared = false;  // other processes accept from it too: one connection a turn, so that they get theirs
};

// Plain counters since open(); read on the engine's thread.
struct EngineStats {
  uint64_t waits = 0;     // trips into the kernel that may block
  uint64_t events = 0;    // completions or readiness events handled
  uint64_t wakeups = 0;   // wake() calls that were noticed
  uint64_t receives = 0;  // receive completions with bytes
  uint64_t received_bytes = 0;
  uint64_t sends = 0;        // send operations given to the kernel
  uint64_t short_sends = 0;  // those that left something behind
  uint64_t sent_bytes = 0;
  uint64_t accepts = 0;
  uint64_t accepts_failed = 0;   // by any error
  uint64_t accepts_shed = 0;     // accepted with the spare fd and closed at once, the process being out of fds
  uint64_t accept_pauses = 0;    // times a listener backed off
  uint64_t accepted_late = 0;    // accepted after stop() was asked
  uint64_t lost_bytes = 0;       // queued for sending when the engine shut, beyond what the kernel had room for
  uint64_t stale_calls = 0;      // calls down with a dead id
  uint64_t stashed_bytes = 0;    // arrived after a pause and were kept for the resume
  uint64_t file_bytes = 0;       // sent by send_file(); in sent_bytes too
  uint64_t forwarded_bytes = 0;  // moved by forward(); in neither received_bytes nor sent_bytes
};

class Engine : public StreamPort {
 public:
  // "epoll", "io_uring", ...
  virtual std::string_view name() const = 0;
  // Makes the calling thread the engine's thread and acquires what waits there.
  virtual Result<void> open() = 0;
  // Sends what is queued as far as the kernel has room, then closes everything, delivering the last completion of each.
  // On the engine's thread; the engine never opens again.
  virtual void shut() = 0;

  // Binds and listens; accepts nothing yet. EADDRINUSE, EACCES, EADDRNOTAVAIL, EMFILE, ...
  virtual Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options) = 0;
  // Takes over a stream socket that listens already: inherited, or handed over. It is made non-blocking (for whoever
  // else has it, too) and close-on-exec. Ends as one of bind() does, but its socket file stays. ENOTSOCK, EINVAL: it
  // does not listen; EOPNOTSUPP: this engine has no fds.
  virtual Result<ListenerId> adopt_listener(Fd /*listening*/, const AdoptOptions& /*options*/) {
    return fail(EOPNOTSUPP);
  }
  using StreamPort::local_address;
  virtual Result<SocketAddress> local_address(ListenerId listener) const = 0;
  // Accepts until told to stop. Running out of fds or memory never ends it: the engine sheds, backs off and counts. Nor
  // does it end where another holder shuts the socket down (shutdown(2)): that is logged, and tried once a second.
  virtual void accept(ListenerId listener, AcceptEvents& events) = 0;
  // Stops accepting and closes the listening socket; on_accept_stopped follows if accept() was called. Legal before
  // open(), and after shut() it does nothing.
  virtual void stop(ListenerId listener) = 0;

  // Watches an fd of somebody else's, which must stay open until on_unwatched. Each of several watches of one fd hears
  // of it. EPERM: nobody can tell when it is ready (a regular file, a folder, /dev/null); EBADF; EMFILE: select beyond
  // FD_SETSIZE, or no fd left for a second watch; ENOSPC, ENOMEM. Nothing is reported then.
  virtual Result<WatchId> watch(int fd, bool readable, bool writable, WatchEvents& events) = 0;
  virtual void unwatch(WatchId watch) = 0;

  // A UDP socket bound to `local` (port 0: any), or a unix datagram socket. EADDRINUSE, EACCES, EMFILE, ...; ENODEV: no
  // such interface; EINVAL: a TTL or a size out of range; EOPNOTSUPP: a unix socket with options that only IP has. The
  // kernel's, over watch(), unless the engine has a network of its own.
  virtual Result<Datagrams*> open_datagrams(const SocketAddress& local, const DatagramOptions& options,
                                            DatagramEvents& events);

  // The names of an engine whose network is its own; null: the world's are good here, asked for by DNS.
  virtual const NameTable* names() const { return nullptr; }
  // For generators of what need not be secret: the machine's randomness, or that of the engine's own world.
  virtual uint64_t random_seed();

  // Calls `task` once: inside the next wait(), or shut(), before what is queued is sent. There a layer seals what was
  // sent outside its calls up, and delivers what it has held back. It answers whether it made a call up. Given inside
  // such a task it is for the wait after this one, which then does not sleep; given while the engine shuts, dropped.
  virtual void before_wait(std::move_only_function<bool()> task) = 0;
  // Goes into the kernel, at most until `deadline` (kPollOnly: without blocking), then dispatches. Returns how many
  // events it handled; a wake() counts as one.
  virtual size_t wait(TimePoint deadline) = 0;
  // From now on each wait() writes when it came out of the kernel, before it dispatches, and adds up how long it worked
  // before it went in, on what was due then: one clock read a wait, or three. Any time; once; both outlive the engine.
  // An engine whose clock stands still while it dispatches need not.
  virtual void note_waits(TimePoint& /*woke_at*/, Duration& /*worked*/) {}
  // The engine's clock.
  virtual TimePoint now() const = 0;
  // It is the machine's, CLOCK_MONOTONIC.
  virtual bool keeps_real_time() const { return true; }
  virtual std::shared_ptr<Waker> waker() = 0;
  virtual const EngineStats& stats() const = 0;

  static constexpr TimePoint kPollOnly = TimePoint::min();
  static constexpr size_t kMostDatagramBytes = 65'507;  // UDP over IPv4 (RFC 768, RFC 791)
};

}  // namespace peal
