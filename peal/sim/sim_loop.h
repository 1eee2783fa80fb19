// SPDX-License-Identifier: BSD-3-Clause
// SimLoop: a Loop that a SimWorld turns, of a machine or of none. The world's thread; made and destroyed outside of its
// steps.
//
// Between two steps whoever has the loop may touch it and everything on it, as before run(): servers are made,
// connections looked at, and posts and handles wait for the next step.
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
  explicit SimLoop(SimWorld& world) : SimLoop(world, world.make_engine()) {}
  explicit SimLoop(SimMachine& machine) : SimLoop(machine.world(), machine.make_engine()) {}
  // As after stop(): see Loop.
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
