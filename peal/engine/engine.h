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

// Maps host names to addresses. Used by an engine that has a network of its own, such as the simulator.
using NameTable = std::map<std::string, std::vector<SocketAddress>, std::less<>>;

// Implemented by the owner of a listener. The object must live until on_accept_stopped() is called.
class AcceptEvents {
 public:
  // Delivers an accepted connection. Nothing is read from the connection until the callee or a later owner gives it to
  // adopt().
  virtual void on_accepted(LooseStream stream) = 0;
  // Reports that the listening socket is closed, after stop(). This is the last callback of the listener. Connections
  // that were accepted after stop() have been delivered before this call.
  virtual void on_accept_stopped() = 0;

 protected:
  ~AcceptEvents() = default;
};

// Implemented by the owner of a watch. The object must live until on_unwatched() is called.
class WatchEvents {
 public:
  // Reports that the fd is readable or writable, as far as watch() asked for it. An error or a hang-up counts as both
  // readable and writable. A FIN counts as readable only. Reports are level-triggered: they are repeated in each wait()
  // while the fd stays ready.
  virtual void on_ready(bool readable, bool writable) = 0;
  // Reports that the watch has ended, after unwatch(). This is the last callback of the watch. From now on the fd may
  // be closed.
  virtual void on_unwatched() = 0;

 protected:
  ~WatchEvents() = default;
};

// Waker: ends the engine's wait() from any thread, at any time. A waker may outlive its engine. wake() has no effect
// after the engine was destroyed.
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

// Options for Engine::adopt_listener(), which takes over a socket that listens already.
struct AdoptOptions {
  SocketOptions socket = {};
  // True if other processes accept from the socket, too. The engine then accepts one connection in each turn, so that
  // the other processes get their share.
  bool shared = false;
};

// Counters of one engine, which count from open() on. They are plain integers and must be read on the engine's thread.
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
  uint64_t lost_bytes = 0;       // Queued bytes that shut() dropped, because the kernel had no room for them.
  uint64_t stale_calls = 0;      // Calls of the engine with a dead id.
  uint64_t stashed_bytes = 0;    // Bytes received after a pause and kept for the resume. No engine does that today.
  uint64_t file_bytes = 0;       // Bytes sent by send_file(). They are counted in sent_bytes, too.
  uint64_t forwarded_bytes = 0;  // Bytes moved by forward(). They are in neither received_bytes nor sent_bytes.
};

class Engine : public StreamPort {
 public:
  // Returns the engine's name, such as "epoll" or "io_uring".
  virtual std::string_view name() const = 0;

  // Opens the engine and makes the calling thread the engine's thread. Opens the fds that wait() needs. If a system
  // call refuses one of them, open() fails with the error of that call.
  virtual Result<void> open() = 0;

  // Sends queued output as far as the kernel has room for it. Then closes all streams, listeners and watches, and calls
  // their last completions (on_closed() and so on). Must be called on the engine's thread. The engine can never be
  // opened again.
  virtual void shut() = 0;

  // Binds a socket and listens. No connection is accepted before accept() is called. Fails with EADDRINUSE, EACCES,
  // EADDRNOTAVAIL, EMFILE, and other errors of socket(2), bind(2) and listen(2).
  virtual Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options) = 0;

  // Takes over a stream socket that listens already, because it was inherited or passed from another process. Makes the
  // socket close-on-exec and non-blocking; the latter applies to all processes that hold the socket. stop() closes the
  // listener like one made by bind(), except that the socket file of a unix address is not removed. Errors:
  // - ENOTSOCK: the fd is no socket;
  // - EINVAL: the socket does not listen, or is not a stream socket;
  // - EOPNOTSUPP: this engine works without fds.
  virtual Result<ListenerId> adopt_listener(Fd /*listening*/, const AdoptOptions& /*options*/) {
    return fail(EOPNOTSUPP);
  }

  using StreamPort::local_address;
  // Returns the address at which the listener listens. Fails with EBADF if the id is dead.
  virtual Result<SocketAddress> local_address(ListenerId listener) const = 0;

  // Accepts connections until stop(). Running out of fds or memory never ends accepting: the engine closes a few
  // waiting clients and pauses, and counts both in EngineStats. If another process that holds the socket calls
  // shutdown(2) for it, the engine logs that and tries to accept once a second.
  virtual void accept(ListenerId listener, AcceptEvents& events) = 0;

  // Stops accepting and closes the listening socket. If accept() was called for the listener, on_accept_stopped()
  // follows. May be called before open(). After shut(), stop() does nothing.
  virtual void stop(ListenerId listener) = 0;

  // Watches an fd that the caller owns and must keep open until on_unwatched(). If one fd is watched several times,
  // each watch reports every event. If watch() fails, `events` is never called. Errors:
  // - EPERM: the kernel cannot tell when the fd is ready, as for a regular file, a folder or /dev/null;
  // - EBADF: the fd is not open;
  // - EMFILE: the engine is "select" and the fd is FD_SETSIZE or more, or no fd is left that the engine needs to
  //   watch this one;
  // - ENOSPC, ENOMEM: the kernel has no room for another watch.
  virtual Result<WatchId> watch(int fd, bool readable, bool writable, WatchEvents& events) = 0;

  // Ends the watch. on_unwatched() is called later, inside wait() or shut().
  virtual void unwatch(WatchId watch) = 0;

  // Opens a datagram socket bound to `local`: a UDP socket, or a unix socket if `local` is a path. Port 0 lets the
  // kernel choose a port. The default implementation uses a socket of the kernel and watch(); an engine with a network
  // of its own overrides it. Errors:
  // - EADDRINUSE, EACCES, EMFILE, and others of socket(2) and bind(2);
  // - ENODEV: an interface named in `options` does not exist;
  // - EINVAL: a TTL or a buffer size is out of range;
  // - EOPNOTSUPP: `local` is a unix address, and `options` sets an option that only IP sockets have.
  virtual Result<Datagrams*> open_datagrams(const SocketAddress& local, const DatagramOptions& options,
                                            DatagramEvents& events);

  // Returns the host names of an engine that has a network of its own. Returns null if the engine uses the real
  // network, whose names are resolved by DNS.
  virtual const NameTable* names() const { return nullptr; }

  // Returns a seed for random numbers that need not be secret. A real engine takes it from the machine. A simulated
  // engine takes it from its world, so that a run can be repeated.
  virtual uint64_t random_seed();

  // Calls `task` once, inside the next wait() or shut(), before the engine sends queued output. A layer over the engine
  // uses this to encrypt what was sent outside of callbacks, and to deliver input that it has held back. `task` returns
  // whether it has called a callback. A task that another task adds runs in the wait() after the current one, and the
  // current wait() does not block. A task added while the engine shuts is dropped.
  virtual void before_wait(std::move_only_function<bool()> task) = 0;

  // Waits in the kernel until an event comes or the time `deadline` is reached, then calls the callbacks. With
  // kPollOnly the call does not block. Returns how many events were handled; a wake() counts as one.
  virtual size_t wait(TimePoint deadline) = 0;

  // Makes each later wait() measure itself. Before wait() calls callbacks, it stores in `woke_at` the time at which it
  // came out of the kernel. If work was due before it went into the kernel, it adds the time of that work to `worked`.
  // Each wait() then reads the clock once, or three times if work was due. May be called at any time, but only once;
  // both variables must outlive the engine. An engine whose clock stands still during callbacks may ignore the call.
  virtual void note_waits(TimePoint& /*woke_at*/, Duration& /*worked*/) {}

  // Returns the time of the engine's clock.
  virtual TimePoint now() const = 0;

  // Returns whether the engine's clock is the machine's CLOCK_MONOTONIC, as opposed to simulated time.
  virtual bool keeps_real_time() const { return true; }

  // Returns the waker of this engine. Other threads may keep it.
  virtual std::shared_ptr<Waker> waker() = 0;

  virtual const EngineStats& stats() const = 0;

  // Deadline with which wait() does not block: it handles only the events that are ready already.
  static constexpr TimePoint kPollOnly = TimePoint::min();

  // Payload of the largest datagram that UDP over IPv4 can carry (RFC 768, RFC 791).
  static constexpr size_t kMostDatagramBytes = 65'507;
};

}  // namespace peal
