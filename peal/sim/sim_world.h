// SPDX-License-Identifier: BSD-3-Clause
// SimWorld: a network in memory with a clock of its own, for tests of servers, clients and protocols.
//
//   SimWorld world(seed, SimOptions::hostile());
//   SimLoop server_loop(world), client_loop(world);      // peal/sim/sim_loop.h
//   ... a Server on one, a Client on the other, as in life ...
//   EXPECT_TRUE(world.run_until([&] { return answered; }));
//
// Thread: a world, its engines and its loops are made, run and destroyed on one thread.
//
// Time: the world steps its loops one after the other. If no loop has anything to do, the clock jumps to the next event
// or timer. No real time passes.
//
// Chance: the seed decides which faults strike and when. The same program with the same seed does the same again;
// trace_hash() shows that.
//
// Addresses: every IP address can be bound without configuration, except 192.0.2.0/24 (RFC 5737), which swallows
// everything that is sent there. A unix path is only a name inside the world and makes no file.
//
// An engine of a world also works with a plain Loop::run(). Then its wait() moves the clock itself, and sleeps in real
// time only if nothing is due. Real fds that are watched are polled in every wait. When they become ready does not
// depend on the seed, so a program that watches fds may run differently each time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>
#include <peal/engine/engine.h>
#include <peal/sim/sim_options.h>

namespace peal {

namespace detail {
class SimNetwork;
class SimFaultPlan;
}  // namespace detail

class SimWorld {
 public:
  // Makes a world. Asserts that options.latency is > 0.
  explicit SimWorld(uint64_t seed, const SimOptions& options = {});
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  // Makes an engine for one loop of no machine. The engine may outlive the world.
  std::unique_ptr<Engine> make_engine();
  // A function that runs one turn of a loop and returns how much it did; 0 if there was nothing to do.
  using Step = std::move_only_function<size_t()>;
  // Makes the world call `step` in each round, until the returned object is destroyed. `step` must wait with `engine`,
  // which make_engine() of this world has made. Must not be called inside a step. SimLoop calls this.
  std::shared_ptr<void> drive(Engine& engine, Step step);

  TimePoint now() const;
  uint64_t seed() const;

  // The options of the whole network. They may be changed at any time and apply from then on.
  SimOptions& options();
  const SimStats& stats() const;
  // The addresses that host names resolve to in this world. The table may be changed at any time.
  NameTable& names();

  // Marks the world as failed, for the reason `why`. The first reason stays. Every run_until(), run_for() and
  // run_until_idle() ends at once from then on. May be called at any time, also from callbacks. simulate() reports the
  // reason.
  void fail(std::string why);
  // Calls fail(`what`) if `good` is false. Returns `good`.
  bool expect(bool good, std::string_view what);
  // The first reason that fail() got; empty if the world has not failed.
  const std::string& failure() const { return failure_; }

  // Returns the options for everything that host `from` sends to host `to`; each is an IP address. They start as a copy
  // of options() at the first call, and do not follow later changes of options(). They may be changed at any time, and
  // the reference stays valid. Options that concern one host alone are always taken from options(): buffers, short
  // reads and writes, EINTR, EAGAIN, late events, fds and disks. Throws std::invalid_argument for a text that is not an
  // IP address.
  SimOptions& link(std::string_view from, std::string_view to);
  // Cuts one direction: nothing that host `from` sends to host `to` arrives, until heal(). Streams retransmit as TCP
  // does, so a connection continues without loss after heal(), unless an end has given up. Datagrams are lost.
  void cut(std::string_view from, std::string_view to);
  // Cuts both directions between each host of `some` and each host of `others`.
  void partition(const std::vector<std::string>& some, const std::vector<std::string>& others);
  // Ends the cut of one direction.
  void heal(std::string_view from, std::string_view to);
  // Ends all cuts.
  void heal();

  // Calls `task` outside of all steps of this world's loops: at once, or after the current step if it is called inside
  // a step. `task` must not run the world; that asserts.
  void between_steps(std::move_only_function<void()> task);
  // Calls `task` as between_steps() does, after `delay` of the world's time. The call happens only while the world
  // runs.
  void after(Duration delay, std::move_only_function<void()> task);

  // Runs the world until `done` returns true. `done` is called first and after each round of steps. Returns false if
  // `limit` of the world's time has passed, if nothing is left to happen, or if the world has failed. In the last two
  // cases the world's clock may stand before the limit.
  bool run_until(const std::function<bool()>& done, Duration limit = std::chrono::hours(1));
  // Runs the world for `time` of its clock. With Duration::max() it runs until nothing is left to happen. Ends early if
  // the world fails.
  void run_for(Duration time);
  // Runs the world until nothing is left to happen: nothing is on its way and no timer is pending. Returns false if
  // `limit` has passed or the world has failed.
  bool run_until_idle(Duration limit = std::chrono::hours(1));

  // Returns a hash of everything that has happened so far. Two runs with the same hash did the same.
  uint64_t trace_hash() const;
  // Returns the last events, one line each with its time in seconds. The world keeps 4096 lines.
  std::string trace_tail(size_t lines = 40) const;

  // Makes a world whose faults follow `plan`. Only simulate() calls this.
  SimWorld(uint64_t seed, const SimOptions& options, std::shared_ptr<detail::SimFaultPlan> plan);

 private:
  friend class SimMachine;

  struct Driven;

  // How a round ended. kBusy: a step did something. kQuiet: no step did, and the clock was moved. kOver: the world has
  // failed, or nothing is due until the end.
  enum class Round : uint8_t { kBusy, kQuiet, kOver };
  Round run_round(TimePoint end);
  bool step_all();
  bool call_between_steps();
  TimePoint next_due() const;

  std::shared_ptr<detail::SimNetwork> network_;
  std::vector<std::weak_ptr<Driven>> driven_;
  int idle_rounds_ = 0;   // rounds in a row that did nothing and did not move the clock
  bool running_ = false;  // true inside the steps of a round and between them
  std::string failure_;
};

}  // namespace peal
