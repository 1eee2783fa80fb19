// SPDX-License-Identifier: BSD-3-Clause
// wait_ms() converts a deadline to the timeout that poll(2) and epoll_wait(2) take.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>

#include <peal/base/clock.h>

namespace peal::models {

// Returns the number of milliseconds from now until the time `until`, rounded up. A wait of this length does not end
// before `until`. Returns 0 if `until` has passed. For kNever, returns -1 and does not read the clock.
inline int wait_ms(TimePoint until) {
  if (until == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - monotonic_now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

}  // namespace peal::models
