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

  // What was found wrong: the first of these stays, and ends every run_until(), run_for() and run_until_idle(). At any
  // time, from callbacks too. simulate() asks for it.
  void fail(std::string why);
  // fail(`what`) unless it is `good`, which is also the answer.
  bool expect(bool good, std::string_view what);
  // Empty: nothing was.
  const std::string& failure() const { return failure_; }

  // What is sent `from` one host `to` another, each an IP address: a copy of options() when first asked for, which
  // later changes of options() do not touch; may be changed at any time, the reference stays good. What concerns one
  // machine alone is the world's nevertheless: buffers, short reads and writes, interruptions, late completions, fds
  // and disks. std::invalid_argument: no IP address.
  SimOptions& link(std::string_view from, std::string_view to);
  // From now on nothing sent so arrives. TCP sends it again: after heal() a connection goes on without loss, unless
  // somebody gave up meanwhile. Datagrams are lost.
  void cut(std::string_view from, std::string_view to);
  // Both ways between each of `some` and each of `others`.
  void partition(const std::vector<std::string>& some, const std::vector<std::string>& others);
  void heal(std::string_view from, std::string_view to);
  // All that was cut.
  void heal();

  // Calls `task` outside of the steps of this world's loops: now, or after the step that this is called in, or after so
  // much time, while the world is run. It cannot run the world itself, which asserts.
  void between_steps(std::move_only_function<void()> task);
  void after(Duration delay, std::move_only_function<void()> task);

  // Steps until `done`, which is asked after each round of steps. False: `limit` of this world's time has passed,
  // nothing was left to happen, or the world has failed; in the last two no time need have passed.
  bool run_until(const std::function<bool()>& done, Duration limit = std::chrono::hours(1));
  // Lets so much time pass; Duration::max(): until nothing is left to happen.
  void run_for(Duration time);
  // Steps until nothing is left to happen: nothing on its way and no timer. False: `limit` has passed, or the
  // world has failed.
  bool run_until_idle(Duration limit = std::chrono::hours(1));

  // Stands for all that happened so far.
  uint64_t trace_hash() const;
  // The last of what happened (4096 lines are kept), a line each with its seconds.
  std::string trace_tail(size_t lines = 40) const;

  // For simulate().
  SimWorld(uint64_t seed, const SimOptions& options, std::shared_ptr<detail::SimFaultPlan> plan);

 private:
  friend class SimMachine;

  struct Driven;

  enum class Round : uint8_t { kBusy, kQuiet, kOver };
  Round run_round(TimePoint end);
  bool step_all();
  bool call_between_steps();
  TimePoint next_due() const;

  std::shared_ptr<detail::SimNetwork> network_;
  std::vector<std::weak_ptr<Driven>> driven_;
  int idle_rounds_ = 0;
  bool running_ = false;  // also between two steps
  std::string failure_;
};

}  // namespace peal
