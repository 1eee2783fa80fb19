// SPDX-License-Identifier: BSD-3-Clause
// SimLoopGroup: several loops that a SimWorld turns, for servers on several loops: what takes a LoopGroup takes this
// one's. The world's thread; made and destroyed outside of its steps.
//
// In the step of one of them the others are as another thread's: they are posted to, reached by handles and never
// touched, and nothing waits for them. Which steps before which is chance. Between steps whoever has the group may
// touch all of it.
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
  // `count` > 0.
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
  std::vector<std::shared_ptr<void>> driven_;  // ends before the loops
};

}  // namespace peal
