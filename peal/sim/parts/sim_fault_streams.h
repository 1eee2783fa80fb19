// SPDX-License-Identifier: BSD-3-Clause
// SimFaultStreams: decides which faults strike, each kind by a stream of its own, and notes those that did, if asked
// to.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/sim/sim_fault.h>
#include <peal/sim/sim_options.h>

namespace peal::detail {

// Of one run.
struct SimFaultPlan {
  using Name = std::pair<SimFaultKind, uint64_t>;
  std::optional<std::set<Name>> only;  // none but these may strike
  std::vector<SimFault> struck;
};

class SimFaultStreams {
 public:
  // `plan` may be null: all may strike, and none is noted.
  SimFaultStreams(uint64_t seed, std::shared_ptr<SimFaultPlan> plan) : seed_(seed), plan_(std::move(plan)) {}

  // One chance of a kind: its number, if it strikes. Where several kinds ask of one occasion, all draw before any
  // answer is looked at: then leaving one out gives no other kind a chance more or less. Draws only when there is a
  // chance at all, so that faults left off do not change the rest.
  std::optional<uint64_t> draw(SimFaultKind kind, const SimOptions& options);
  // It happens: it is counted in `stats`, and noted.
  void take(SimStats& stats, const SimFault& fault);
  // More about the last chance of this kind: from 0 to `bound` - 1; `bound` > 0.
  uint64_t more(SimFaultKind kind, uint64_t bound);

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
