// SPDX-License-Identifier: BSD-3-Clause
// SimLoop: a Loop whose turns a SimWorld runs. It belongs to a SimMachine, or to no machine. It is used on the world's
// thread, and made and destroyed outside of the world's steps.
//
// Between two steps, the test may use the loop and all objects on it, as it may before Loop::run(). For example it
// makes servers and inspects connections. Posted tasks wait for the next step.
#pragma once

#include <memory>
#include <utility>

#include <peal/base/assert.h>
#include <peal/loop/loop.h>
#include <peal/sim/sim_machine.h>
#include <peal/sim/sim_world.h>

namespace peal {

class SimLoop {
 public:
  // Makes a loop and begins it. The loop belongs to `machine`, or to no machine if a SimWorld is given.
  explicit SimLoop(SimWorld& world) : SimLoop(world, world.make_engine()) {}
  explicit SimLoop(SimMachine& machine) : SimLoop(machine.world(), machine.make_engine()) {}
  // Ends the loop in the order that Loop::run() follows after stop().
  ~SimLoop() {
    driven_.reset();
    loop_.end();
  }
  SimLoop(const SimLoop&) = delete;
  SimLoop& operator=(const SimLoop&) = delete;

  Loop& operator*() { return loop_; }
  Loop* operator->() { return &loop_; }

 private:
  SimLoop(SimWorld& world, std::unique_ptr<Engine> engine)
      : loop_(std::move(engine), {}), driven_(world.drive(loop_.engine(), [this] { return loop_.step(); })) {
    const Result<void> begun = loop_.begin();
    PEAL_ASSERT(begun, "a simulated loop cannot begin: {}", begun.error().message());
  }

  Loop loop_;
  std::shared_ptr<void> driven_;
};

}  // namespace peal
