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

// The plan for the faults of one run of a world. The plan may decide which faults strike, and it records those that
// did.
class SimFaultPlan {
 public:
  // Makes a plan that only records the faults that strike. Chance decides which of them strike.
  SimFaultPlan() = default;
  // Makes a plan in which exactly the faults of the list `only` strike. The list comes from another run, in the order
  // in which they struck. Each fault has two chances to strike, and the earlier one counts:
  //   - the chance that has the fault's number `nth`;
  //   - the first chance after the fault's time `at` that is between the same hosts and for the same file.
  explicit SimFaultPlan(const std::vector<SimFault>& only) : decides_(true) {
    for (const SimFault& fault : only) waiting_.at(static_cast<size_t>(fault.kind)).push_back(fault);
  }
  // True if the plan decides which faults strike; false if chance does.
  bool decides() const { return decides_; }
  // True if the plan has a fault that strikes at this chance.
  bool wants(const SimFault& chance) {
    return planned_for(chance) != waiting_.at(static_cast<size_t>(chance.kind)).end();
  }
  // Adds a fault that strikes to the list `struck`, and removes it from the faults that are still planned.
  void record(const SimFault& fault);

  std::vector<SimFault> struck;

 private:
  std::list<SimFault>::iterator planned_for(const SimFault& chance);

  bool decides_ = false;
  std::array<std::list<SimFault>, kSimFaultKinds> waiting_;
};

class SimFaultStreams {
 public:
  // Makes the random numbers of a world. If `plan` is null, chance decides about every fault, and no fault is recorded
  // in a plan.
  SimFaultStreams(uint64_t seed, std::shared_ptr<SimFaultPlan> plan) : seed_(seed), plan_(std::move(plan)) {}

  // Draws one chance for a fault and sets its number `nth`. Returns true if the fault strikes. If the probability in
  // `options` is 0, the fault does not strike and the chance gets no number.
  // If one operation is a chance for several kinds of faults, the caller must draw for all of these kinds before it
  // uses a result. Otherwise a run without one of the faults would have other numbers for the chances of the other
  // kinds.
  bool draw(SimFault& chance, const SimOptions& options);
  // Records a fault that strikes: increments its counter in `stats`, and adds the fault to the plan if there is one.
  void record(SimStats& stats, const SimFault& fault);
  // Returns a random number from 0 to `bound` - 1, for example how short a short read is. It is computed from the
  // seed and the number of this kind's last chance, so a repeated run gets the same number. `bound` must be > 0.
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

// kSplitMixStep and split_mix() are the random generator SplitMix64. kSplitMixStep is added to the state for each
// number, and split_mix() computes the number from the state.
constexpr uint64_t kSplitMixStep = 0x9E3779B97F4A7C15;
constexpr uint64_t split_mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace peal::detail
