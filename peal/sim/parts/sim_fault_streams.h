// SPDX-License-Identifier: BSD-3-Clause
// SimFaultStreams decides which faults strike, with a separate stream of random numbers for each kind. SimFaultPlan
// notes the faults that struck, and can restrict a run to the faults of an earlier run.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/sim/sim_fault.h>
#include <peal/sim/sim_options.h>

namespace peal::detail {

// The faults of one run of a world.
class SimFaultPlan {
 public:
  // Leaves it to chance which faults strike, and only notes them.
  SimFaultPlan() = default;
  // Lets only the faults `only` strike. They come from another run, in the order in which they struck. Each strikes at
  // the chance with its number, or at the first chance between the same hosts after the fault's time, whichever comes
  // first.
  explicit SimFaultPlan(const std::vector<SimFault>& only) : decides_(true) {
    for (const SimFault& fault : only) waiting_.at(static_cast<size_t>(fault.kind)).push_back(fault);
  }
  // True if the plan decides which faults strike; false if chance does.
  bool decides() const { return decides_; }
  // True if a planned fault strikes at this chance.
  bool wants(const SimFault& chance) {
    return planned_for(chance) != waiting_.at(static_cast<size_t>(chance.kind)).end();
  }
  // Notes a fault that strikes in `struck`, and removes it from the planned ones.
  void record(const SimFault& fault);

  std::vector<SimFault> struck;

 private:
  std::list<SimFault>::iterator planned_for(const SimFault& chance);

  bool decides_ = false;
  std::array<std::list<SimFault>, kSimFaultKinds> waiting_;
};

class SimFaultStreams {
 public:
  // If `plan` is null, chance decides about every fault and none is noted.
  SimFaultStreams(uint64_t seed, std::shared_ptr<SimFaultPlan> plan) : seed_(seed), plan_(std::move(plan)) {}

  // Draws one chance and sets its number `nth`. Returns true if the fault strikes. If one operation is a chance for
  // several kinds, the caller must draw for all of them before it uses a result. Then leaving one fault out does not
  // renumber the chances of other kinds. If the probability in `options` is 0, no number is drawn or used up.
  bool draw(SimFault& chance, const SimOptions& options);
  // Counts a fault that strikes in `stats`, and notes it in the plan.
  void record(SimStats& stats, const SimFault& fault);
  // Returns a random number from 0 to `bound` - 1 that belongs to the last chance of this kind, for example how short a
  // short read is. `bound` must be > 0.
  uint64_t random_for(SimFaultKind kind, uint64_t bound);

 private:
  struct Stream {
    uint64_t chances = 0;
    uint64_t state = 0;
  };

  const uint64_t seed_;
  const std::shared_ptr<SimFaultPlan> plan_;
  std::array<Stream, kSimFaultKinds> streams_;
};

// The random generator SplitMix64: kSplitMixStep is added to its state, and split_mix() makes a number from the state.
constexpr uint64_t kSplitMixStep = 0x9E3779B97F4A7C15;
constexpr uint64_t split_mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace peal::detail
