// SPDX-License-Identifier: BSD-3-Clause
// RespawnPolicy: decides how long a worker's place stays empty after its worker has died. The first death of a worker
// that was healthy counts as an accident, so its replacement starts at once. After further deaths in a row the pause
// doubles each time, and too many deaths in a row count as a permanent fault.
#pragma once

#include <algorithm>
#include <optional>

#include <peal/base/clock.h>
#include <peal/process/master.h>

namespace peal::detail {

class RespawnPolicy {
 public:
  explicit RespawnPolicy(const RespawnOptions& options) : options_(options) {}

  // Records the death of a worker that lived for `life`. Returns the pause before its replacement starts. Returns
  // nullopt if there were more than most_deaths deaths in a row.
  std::optional<Duration> died(Duration life) {
    if (life >= options_.quiet_while) deaths_ = 0;
    if (++deaths_ > options_.most_deaths) return std::nullopt;
    if (deaths_ == 1) return Duration::zero();
    pause_ = std::min(deaths_ == 2 ? options_.first_pause : sum_of(pause_, pause_), options_.longest_pause);
    return pause_;
  }

 private:
  RespawnOptions options_;
  size_t deaths_ = 0;
  Duration pause_{};
};

}  // namespace peal::detail
