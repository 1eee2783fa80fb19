// SPDX-License-Identifier: BSD-3-Clause
// Service-level objectives: what a run must keep to so that its rate holds.
//
//   p99=1ms      a percentile of the latency, p50 to p99.99, is no more than this
//   max=20ms     the longest latency is
//   errors=0.1%  at most this share of the messages fails
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <load/record/run_record.h>

namespace peal::load {

struct Slo {
  enum class Kind : uint8_t { kLatency, kErrors };
  Kind kind = Kind::kLatency;
  std::string text;    // as it was asked for
  double percent = 0;  // kLatency; 100: the longest
  Duration most{};     // kLatency
  double share = 0;    // kErrors, 0 to 1
};

// The error is one sentence.
std::expected<Slo, std::string> parse_slo(std::string_view text);

// Why the rate of this run does not hold, in a few words; empty where it does: every objective is kept, and no gate is
// INVALID. Failures up to what an objective for errors allows do not matter.
std::string why_not_held(const std::vector<Slo>& objectives, const RunRecord& record);

}  // namespace peal::load
