// SPDX-License-Identifier: BSD-3-Clause
// SimLoopGroup: several loops whose turns a SimWorld runs, for tests of servers on several loops. *group is a
// LoopGroup, which such a server takes. The group is used on the world's thread, and made and destroyed outside of the
// world's steps.
//
// Inside a step of one loop, the other loops count as loops of another thread. Code may post tasks to them and use
// handles to their objects, but must not touch them or wait for them. Chance decides the order in which the loops step.
// Between steps, the test may use all of the loops.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <peal/base/assert.h>
#include <peal/loop/loop.h>
#include <peal/loop/loop_group.h>
#include <peal/sim/sim_machine.h>
#include <peal/sim/sim_world.h>

namespace peal {

class SimLoopGroup {
 public:
  // Makes `count` loops and begins them. The loops belong to `machine`, or to no machine if a SimWorld is given.
  // Asserts that `count` is > 0.
  SimLoopGroup(SimWorld& world, size_t count) { make(world, world, count); }
  SimLoopGroup(SimMachine& machine, size_t count) { make(machine.world(), machine, count); }
  SimLoopGroup(const SimLoopGroup&) = delete;
  SimLoopGroup& operator=(const SimLoopGroup&) = delete;

  LoopGroup& operator*() { return *group_; }
  LoopGroup* operator->() { return group_.get(); }

 private:
  template <class Maker>
  void make(SimWorld& world, Maker& maker, size_t count) {
    std::vector<std::unique_ptr<Loop>> loops;
    for (size_t i = 0; i < count; ++i) {
      Loop& loop = *loops.emplace_back(std::make_unique<Loop>(maker.make_engine(), LoopOptions{}));
      const Result<void> begun = loop.begin();
      PEAL_ASSERT(begun, "a simulated loop cannot begin: {}", begun.error().message());
      driven_.push_back(world.drive(loop.engine(), [&loop] { return loop.step(); }));
    }
    group_ = std::make_unique<LoopGroup>(std::move(loops));
  }

  std::unique_ptr<LoopGroup> group_;
  std::vector<std::shared_ptr<void>>
      driven_;  // declared last, so that the world stops stepping before the loops are destroyed
};

}  // namespace peal
