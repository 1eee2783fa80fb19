// SPDX-License-Identifier: BSD-3-Clause
// SimFaultStreams: decides which faults strike, each kind by a stream of its own, and notes those that did, if asked
// to.
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

// Of one run.
class SimFaultPlan {
 public:
  // All may strike.
  SimFaultPlan() = default;
  // None but these strike, which struck in another run and stand in its order: each at the chance of its number, or,
  // where that comes later in this run, at the first one after its time between the same hosts.
  explicit SimFaultPlan(const std::vector<SimFault>& only) : decides_(true) {
    for (const SimFault& fault : only) waiting_.at(static_cast<size_t>(fault.kind)).push_back(fault);
  }
  bool decides() const { return decides_; }
  bool wants(const SimFault& chance) {
    return planned_for(chance) != waiting_.at(static_cast<size_t>(chance.kind)).end();
  }
  void record(const SimFault& fault);

  std::vector<SimFault> struck;

 private:
  std::list<SimFault>::iterator planned_for(const SimFault& chance);

  bool decides_ = false;
  std::array<std::list<SimFault>, kSimFaultKinds> waiting_;
};

class SimFaultStreams {
 public:
  // `plan` may be null: all may strike, and none is noted.
  SimFaultStreams(uint64_t seed, std::shared_ptr<SimFaultPlan> plan) : seed_(seed), plan_(std::move(plan)) {}

  // One chance, which gets its number: true if it strikes. Where several kinds ask of one occasion, all draw before any
  // answer is looked at: then leaving one out gives no other kind a chance more or less. Draws only when there is a
  // chance at all, so that faults left off do not change the rest.
  bool draw(SimFault& chance, const SimOptions& options);
  // It happens: it is counted in `stats`, and noted.
  void record(SimStats& stats, const SimFault& fault);
  // More about the last chance of this kind: from 0 to `bound` - 1; `bound` > 0.
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

// SplitMix64: the step of its state, and what it makes of it.
constexpr uint64_t kSplitMixStep = 0x9E3779B97F4A7C15;
constexpr uint64_t split_mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace peal::detail
