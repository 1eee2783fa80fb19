// SPDX-License-Identifier: BSD-3-Clause
// SimWorld: a network in memory with a clock of its own, for tests of servers, clients and protocols.
//
//   SimWorld world(seed, SimOptions::hostile());
//   SimLoop server_loop(world), client_loop(world);      // peal/sim/sim_loop.h
//   ... a Server on one, a Client on the other, as in life ...
//   EXPECT_TRUE(world.run_until([&] { return answered; }));
//
// Everything in a world happens on one thread: the one that makes it, makes its engines and runs it. Its loops are
// stepped in turn; time passes only when none of them has anything to do, and then leaps to what comes next. What goes
// wrong, and when, follows from the seed: the same program with the same seed does the same, which trace_hash() shows.
//
// Every address is there: each IP is this machine's own, but 192.0.2.0/24 (RFC 5737), which cannot be bound and
// swallows what is sent there. Unix paths are names of this world and leave no file.
//
// An engine of a world also serves a plain Loop::run(): its wait() then moves the clock by itself, and sleeps for real
// only when nothing at all is due. Fds that are watched are looked at in every wait, in real time: what depends on them
// is outside of what the seed decides.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <peal/base/clock.h>
#include <peal/engine/engine.h>

namespace peal {

namespace detail {
class SimNetwork;
}

// Probabilities are from 0 to 1.
struct SimOptions {
  Duration latency = std::chrono::microseconds(20);  // of everything that is sent; > 0, or time would stand still
  Duration jitter = {};                              // up to this much more; never against a stream's order
  uint32_t send_buffer_bytes = 64 * 1024;            // unless SocketOptions tell; with the peer's receive buffer it
  uint32_t receive_buffer_bytes = 64 * 1024;         // bounds what is sent and not yet read
  Duration give_up = std::chrono::seconds(924);  // ETIMEDOUT for who hears no acknowledgement (tcp(7), tcp_retries2)
  Duration connect_give_up = std::chrono::seconds(127);  // the same for connecting (tcp(7), tcp_syn_retries)

  double short_read = 0;   // of each: less is read than is there
  double short_write = 0;  // of each: less is taken than there is room for
  double interrupted = 0;  // of each read and write: EINTR, tried again
  double again = 0;        // of each read and write: EAGAIN although it could go on; it can a little later
  double late = 0;         // of each completion: told up to late_by later, others overtake it
  Duration late_by = std::chrono::milliseconds(1);
  double reset = 0;               // of each packet: both ends are told RST instead
  double vanish = 0;              // of each packet: from now on nothing arrives, and neither end is told
  double refuse = 0;              // of each connect: ECONNREFUSED
  double unreachable = 0;         // of each connect: EHOSTUNREACH
  double swallow = 0;             // of each connect: no answer until connect_give_up
  double no_fd = 0;               // of each bind, connect, accept and datagram socket: EMFILE
  double lose_datagram = 0;       // of each
  double double_datagram = 0;     // of each
  double overtaken_datagram = 0;  // of each: up to late_by later

  // All of them, so that a run of some hundred packets meets several and most connections still live.
  static SimOptions hostile();
};

// How often the world did so.
struct SimStats {
  uint64_t connects = 0;  // asked for
  uint64_t packets = 0;   // of streams, with bytes
  uint64_t short_reads = 0;
  uint64_t short_writes = 0;
  uint64_t interrupted = 0;
  uint64_t again = 0;
  uint64_t late = 0;
  uint64_t resets = 0;
  uint64_t vanished = 0;
  uint64_t connects_failed = 0;  // by a fault
  uint64_t no_fd = 0;
  uint64_t datagrams = 0;
  uint64_t datagrams_lost = 0;  // a full receive buffer included
  uint64_t datagrams_doubled = 0;
  uint64_t datagrams_overtaken = 0;
};

class SimWorld {
 public:
  explicit SimWorld(uint64_t seed, const SimOptions& options = {});
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  // For one loop. It may outlive the world.
  std::unique_ptr<Engine> make_engine();
  // One turn of something, usually a loop, as long as `driven` lives; `step` returns how much it did, and waits with
  // `engine`, made here. Not from inside a step. SimLoop does this.
  using Step = std::move_only_function<size_t()>;
  std::shared_ptr<void> drive(Engine& engine, Step step);

  TimePoint now() const;
  uint64_t seed() const;
  // May be changed at any time, for what happens from then on.
  SimOptions& options();
  const SimStats& stats() const;
  // What names resolve to; any change at any time.
  NameTable& names();

  // Steps until `done`, which is asked after each round of steps. False: `limit` of this world's time has passed, or
  // nothing was left to happen.
  bool run_until(const std::function<bool()>& done, Duration limit = std::chrono::hours(1));
  // Lets so much time pass.
  void run_for(Duration time);
  // Steps until nothing is left to happen: nothing on its way and no timer. False: `limit` has passed.
  bool run_until_idle(Duration limit = std::chrono::hours(1));

  // Stands for all that happened so far.
  uint64_t trace_hash() const;
  // The last of what happened (4096 lines are kept), one line each.
  std::string trace_tail(size_t lines = 40) const;

 private:
  struct Driven;

  enum class Round : uint8_t { kBusy, kQuiet, kOver };
  Round round(TimePoint end);
  bool step_all();
  TimePoint next() const;

  std::shared_ptr<detail::SimNetwork> network_;
  std::vector<std::weak_ptr<Driven>> driven_;
  int idle_rounds_ = 0;
};

}  // namespace peal
