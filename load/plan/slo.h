// SPDX-License-Identifier: BSD-3-Clause
// Service-level objectives. The server can keep up with a rate (the rate "holds") if a run at that rate meets all of
// them.
//
//   p99=1ms      this percentile of the latency, p50 to p99.99, is at most 1 ms
//   max=20ms     the longest latency is at most 20 ms
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
  std::string text;    // as the user wrote it
  double percent = 0;  // for kLatency: which percentile; 100 is the longest latency
  Duration most{};     // for kLatency: the longest latency that is allowed
  double share = 0;    // for kErrors: the share that may fail, from 0 to 1
};

// Parses a service-level objective. For example, "p99=1ms" says that 99 % of the latencies must be at most 1 ms. If the
// text is not valid, returns a sentence that lists the valid forms.
std::expected<Slo, std::string> parse_slo(std::string_view text);

// Returns an empty text if the server could keep up with the rate of this run. Otherwise returns the reason in a few
// words, such as "p99 is 2.10 ms". The server has kept up if three conditions hold:
// - At least one message was answered correctly in the measurement.
// - The run meets every objective.
// - No check of the run has the verdict INVALID. There is one exception. If an objective such as "errors=0.1%" limits
//   the share of failed messages, the checks "errors", "wrong" and "bytes" are ignored. These checks fail because of a
//   single failed message, but the user has allowed a share of failures.
std::string why_not_held(const std::vector<Slo>& objectives, const RunRecord& record);

}  // namespace peal::load
