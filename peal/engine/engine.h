// SPDX-License-Identifier: BSD-3-Clause
// Engine: the only interface between peal and the kernel. Only an engine knows epoll or io_uring, and no code above may
// ask which engine it has.
//
// An engine is a proactor and belongs to one loop. Its owner calls members of Engine to start operations. The engine
// carries them out and reports completions by callbacks: the members of the *Events interfaces below and in
// stream_port.h, which the owner implements. Every engine keeps these rules:
//   - now() and waker() may be called at any time. bind(), adopt_listener(), stop() and local_address() of a listener
//     may be called before open(), too. Everything else may be called only between open() and shut(), on the thread
//     that called open(). Waker::wake() is the only call that any thread may make.
//   - No callback is ever called inside a call of the owner, except inside wait() and shut().
//   - Ids carry a generation that is checked. After close(), stop() or unwatch() the id is dead: a later call with it
//     does nothing and is counted (EngineStats::stale_calls). Only its last completion is still reported.
//   - An *Events object must live until its last completion: on_closed, on_detached, on_accept_stopped, on_unwatched.
//     It may destroy itself inside that call.
//   - A callback may start or end any operation, even of its own stream.
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

// Maps host names to addresses, for an engine that has a network of its own, as the simulator has.
using NameTable = std::map<std::string, std::vector<SocketAddress>, std::less<>>;

// Implemented by the owner of a listener. The object must live until on_accept_stopped() is called.
class AcceptEvents {
 public:
  // Delivers an accepted connection. Nothing is read from it until the callee or a later owner adopts it.
  virtual void on_accepted(LooseStream stream) = 0;
  // Is the last completion after stop(): the listening socket is closed. Connections that were accepted after stop()
  // have been delivered before.
  virtual void on_accept_stopped() = 0;

 protected:
  ~AcceptEvents() = default;
};

// Implemented by the owner of a watch. The object must live until on_unwatched() is called.
class WatchEvents {
 public:
  // Reports that the fd is ready for what watch() asked for. An error or a hang-up makes it both readable and writable,
  // as far as both were asked for. A FIN makes it readable only. Reports are level-triggered: they are repeated in each
  // wait() while the fd stays ready.
  virtual void on_ready(bool readable, bool writable) = 0;
  // Is the last completion after unwatch(): from now on the fd may be closed.
  virtual void on_unwatched() = 0;

 protected:
  ~WatchEvents() = default;
};

// Waker: ends the engine's wait() from any thread, at any time. A waker may outlive its engine; then wake() has no
// effect.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
};

struct ListenOptions {
  int backlog = 4096;         // For listen(2). The kernel caps it at net.core.somaxconn.
  bool reuse_port = false;    // SO_REUSEPORT: several listeners may share one address.
  bool v6_only = false;       // IPV6_V6ONLY. If false, a listener at [::] accepts IPv4 connections, too.
  SocketOptions socket = {};  // Set once on the listener; every accepted stream inherits them.
};

// Options for a socket that listens already, see Engine::adopt_listener().
struct AdoptOptions {
  SocketOptions socket = {};
  // True if other processes accept from the socket, too. The engine then accepts one connection a turn, so that the
  // others get their share.
  bool shared = false;
};

// Counters of one engine, from open() on. They are plain integers, to be read on the engine's thread.
struct EngineStats {
  uint64_t waits = 0;     // System calls that may block in wait().
  uint64_t events = 0;    // Completions or readiness events that were handled.
  uint64_t wakeups = 0;   // Times wait() noticed a wake(). Several wake() calls may count as one.
  uint64_t receives = 0;  // Receive operations that brought bytes.
  uint64_t received_bytes = 0;
  uint64_t sends = 0;        // Send operations given to the kernel.
  uint64_t short_sends = 0;  // Send operations of which the kernel did not take all bytes.
  uint64_t sent_bytes = 0;
  uint64_t accepts = 0;
  uint64_t accepts_failed = 0;   // Accepts that failed, with any error.
  uint64_t accepts_shed = 0;     // Clients accepted and closed at once, because the process is out of usable fds.
  uint64_t accept_pauses = 0;    // Times a listener paused because fds or memory had run out.
  uint64_t accepted_late = 0;    // Connections accepted after stop() was called.
  uint64_t lost_bytes = 0;       // Bytes still queued for sending when shut() had sent what the kernel had room for.
  uint64_t stale_calls = 0;      // Calls of the engine with a dead id.
  uint64_t stashed_bytes = 0;    // Bytes received after a pause and kept for the resume. No engine does that today.
  uint64_t file_bytes = 0;       // Bytes sent by send_file(). They are counted in sent_bytes, too.
  uint64_t forwarded_bytes = 0;  // Bytes moved by forward(). They are in neither received_bytes nor sent_bytes.
};

class Engine : public StreamPort {
 public:
  // Returns the engine's name: "epoll", "io_uring", ...
  virtual std::string_view name() const = 0;

  // Opens the engine and makes the calling thread the engine's thread. Acquires the fds that wait() needs, and fails
  // with the error of the system call that refused one.
  virtual Result<void> open() = 0;

  // Sends what is queued as far as the kernel has room, then closes everything and delivers every last completion. Must
  // be called on the engine's thread. The engine can never be opened again.
  virtual void shut() = 0;

  // Binds a socket and listens; nothing is accepted before accept(). Fails with EADDRINUSE, EACCES, EADDRNOTAVAIL,
  // EMFILE, and other errors of socket(2), bind(2) and listen(2).
  virtual Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options) = 0;

  // Takes over a stream socket that listens already, because it was inherited or passed from another process. Makes it
  // non-blocking, which all its holders see, and close-on-exec. The listener ends as one of bind() does, except that
  // the socket file of a unix address is not removed. Errors:
  // - ENOTSOCK: the fd is no socket;
  // - EINVAL: the socket does not listen for streams;
  // - EOPNOTSUPP: this engine works without fds.
  virtual Result<ListenerId> adopt_listener(Fd /*listening*/, const AdoptOptions& /*options*/) {
    return fail(EOPNOTSUPP);
  }

  using StreamPort::local_address;
  // Returns the address at which the listener listens. EBADF: the id is dead.
  virtual Result<SocketAddress> local_address(ListenerId listener) const = 0;

  // Accepts connections until stop(). Running out of fds or memory never ends accepting: the engine closes a few
  // waiting clients, pauses, and counts both. If another holder calls shutdown(2) for the socket, the engine logs that
  // and tries again once a second.
  virtual void accept(ListenerId listener, AcceptEvents& events) = 0;

  // Stops accepting and closes the listening socket. on_accept_stopped() follows if accept() was called. May be called
  // before open(). After shut() it does nothing.
  virtual void stop(ListenerId listener) = 0;

  // Watches an fd that the caller owns and must keep open until on_unwatched(). If one fd is watched several times,
  // each watch reports every event. If watch() fails, nothing is ever reported. Errors:
  // - EPERM: the kernel cannot tell when the fd is ready, as for a regular file, a folder or /dev/null;
  // - EBADF: the fd is not open;
  // - EMFILE: select was given an fd of FD_SETSIZE or more, or no fd is left for a second watch of this fd;
  // - ENOSPC, ENOMEM: the kernel has no room.
  virtual Result<WatchId> watch(int fd, bool readable, bool writable, WatchEvents& events) = 0;

  // Ends the watch. on_unwatched() follows.
  virtual void unwatch(WatchId watch) = 0;

  // Opens a UDP socket bound to `local`, where port 0 lets the kernel choose one, or a unix datagram socket. The
  // default implementation uses a socket of the kernel and watch(); an engine with a network of its own overrides it.
  // Errors:
  // - EADDRINUSE, EACCES, EMFILE, and others of socket(2) and bind(2);
  // - ENODEV: an interface named in `options` does not exist;
  // - EINVAL: a TTL or a buffer size is out of range;
  // - EOPNOTSUPP: a unix socket with options that only IP has.
  virtual Result<Datagrams*> open_datagrams(const SocketAddress& local, const DatagramOptions& options,
                                            DatagramEvents& events);

  // Returns the host names of an engine that has a network of its own. Null: names are those of
  // the real network, resolved by DNS.
  virtual const NameTable* names() const { return nullptr; }

  // Returns a seed for random numbers that need not be secret. It comes from the machine, or from the simulated world
  // of the engine, which makes it repeatable.
  virtual uint64_t random_seed();

  // Calls `task` once, inside the next wait() or shut(), before the engine sends what is queued. A layer over the
  // engine uses it to encrypt what was sent outside of callbacks, and to deliver input that it has held back. `task`
  // returns whether it has called a callback. A task added inside such a task runs in the wait() after this one, and
  // this wait() does not block. A task added while the engine shuts is dropped.
  virtual void before_wait(std::move_only_function<bool()> task) = 0;

  // Waits in the kernel until an event comes or `deadline` is over, then calls the callbacks. With kPollOnly the call
  // does not block. Returns how many events were handled; a wake() counts as one.
  virtual size_t wait(TimePoint deadline) = 0;

  // Makes each later wait() measure itself. It writes to `woke_at` when it came out of the kernel, before it calls
  // callbacks. To `worked` it adds the time it spent on due work before it went into the kernel. This costs one reading
  // of the clock for each wait(), or three. May be called at any time, but only once; both variables must outlive the
  // engine. An engine whose clock stands still during callbacks may ignore it.
  virtual void note_waits(TimePoint& /*woke_at*/, Duration& /*worked*/) {}

  // Returns the time of the engine's clock.
  virtual TimePoint now() const = 0;

  // Returns whether the engine's clock is the machine's CLOCK_MONOTONIC, as opposed to simulated time.
  virtual bool keeps_real_time() const { return true; }

  // Returns the waker of this engine, which other threads may keep.
  virtual std::shared_ptr<Waker> waker() = 0;

  virtual const EngineStats& stats() const = 0;

  // Deadline for wait() that only asks what is ready.
  static constexpr TimePoint kPollOnly = TimePoint::min();

  // Payload of the largest datagram that UDP over IPv4 can carry (RFC 768, RFC 791).
  static constexpr size_t kMostDatagramBytes = 65'507;
};

}  // namespace peal
