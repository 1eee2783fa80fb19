// SPDX-License-Identifier: BSD-3-Clause
// SimWorld: a network in memory with a clock of its own, for tests of servers, clients and protocols.
//
//   SimWorld world(seed, SimOptions::hostile());
//   SimLoop server_loop(world), client_loop(world);      // peal/sim/sim_loop.h
//   ...                                                  // a Server on one, a Client on the other, as in life
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

  // Makes an engine for one loop that belongs to no machine. The engine may outlive the world.
  std::unique_ptr<Engine> make_engine();
  // A function that runs one turn of a loop. It returns how much the turn did, or 0 if there was nothing to do.
  using Step = std::move_only_function<size_t()>;
  // Makes the world call `step` in each round, until the returned object is destroyed. `step` must wait with `engine`,
  // which make_engine() of this world or of one of its machines has made. Must not be called inside a step. SimLoop
  // calls this.
  std::shared_ptr<void> drive(Engine& engine, Step step);

  TimePoint now() const;
  uint64_t seed() const;

  // Returns the options of the whole network. They may be changed at any time, and a change applies from then on.
  SimOptions& options();
  const SimStats& stats() const;
  // Returns the table of the addresses that host names resolve to in this world. The table may be changed at any time.
  NameTable& names();

  // Marks the world as failed, for the reason `why`. If the world has already failed, its first reason is kept. After a
  // failure, every run_until(), run_for() and run_until_idle() ends at once. simulate() reports the reason. May be
  // called at any time, also from callbacks.
  void fail(std::string why);
  // Calls fail(`what`) if `good` is false. Returns `good`.
  bool expect(bool good, std::string_view what);
  // Returns the reason of the first fail(), or an empty text if the world has not failed.
  const std::string& failure() const { return failure_; }

  // Returns the options for everything that host `from` sends to host `to`; both are IP addresses. The first call
  // copies options() for this path, and later changes of options() do not apply to the path. The result may be changed
  // at any time, and the reference stays valid.
  // Options that concern one host alone are always taken from options(): buffers, short reads and writes, EINTR,
  // EAGAIN, late events, fds and disks. Throws std::invalid_argument if `from` or `to` is not an IP address.
  SimOptions& link(std::string_view from, std::string_view to);
  // Cuts one direction: packets and datagrams from host `from` to host `to` do not arrive until heal(). Streams
  // retransmit as TCP does, so a connection continues without loss after heal(), unless one of its ends has given up.
  // Datagrams are lost.
  void cut(std::string_view from, std::string_view to);
  // Cuts both directions between each host of `some` and each host of `others`.
  void partition(const std::vector<std::string>& some, const std::vector<std::string>& others);
  // Lets what host `from` sends to host `to` arrive again after a cut().
  void heal(std::string_view from, std::string_view to);
  // Ends all cuts of all directions.
  void heal();

  // Calls `task` outside of all steps of this world's loops. If between_steps() is called inside a step, the call is
  // made after this step, otherwise at once. While the world runs, `task` must not run it; that asserts.
  void between_steps(std::move_only_function<void()> task);
  // Calls `task` outside of all steps, after `delay` of the world's time. The call is made only while the world runs.
  void after(Duration delay, std::move_only_function<void()> task);

  // Runs the world until `done` returns true. `done` is called first and after each round of steps. Returns false in
  // three cases: `limit` of the world's time has passed, no event and no timer is left, or the world has failed. In the
  // last two cases the world's clock may stand before the limit.
  bool run_until(const std::function<bool()>& done, Duration limit = std::chrono::hours(1));
  // Runs the world for `time` of its clock. If `time` is Duration::max(), the world runs until no event and no timer is
  // left. Ends early if the world fails.
  void run_for(Duration time);
  // Runs the world until nothing is on its way and no timer is pending, and returns true. Returns false if `limit` of
  // the world's time has passed or the world has failed.
  bool run_until_idle(Duration limit = std::chrono::hours(1));

  // Returns a hash of everything that has happened so far. If two runs have the same hash, the same has happened in
  // both.
  uint64_t trace_hash() const;
  // Returns the last `lines` events, one line each with its time in seconds, and then the addresses of the connections
  // in these lines. The world keeps 4096 lines.
  std::string trace_tail(size_t lines = 40) const;

  // Makes a world whose faults follow `plan`. Only simulate() calls this constructor.
  SimWorld(uint64_t seed, const SimOptions& options, std::shared_ptr<detail::SimFaultPlan> plan);

 private:
  friend class SimMachine;

  struct Driven;

  // How a round of steps ended.
  //   kBusy   a step did something
  //   kQuiet  no step did anything, and the clock was moved to the next event or timer
  //   kOver   the world has failed, or no step did anything and no event or timer is due up to `end`
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
