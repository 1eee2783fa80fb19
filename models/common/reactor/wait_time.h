// SPDX-License-Identifier: BSD-3-Clause
// How long a poller may sleep until a deadline, as poll(2) and epoll_wait(2) want to be told.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>

#include <peal/base/clock.h>

namespace peal::models {

// Milliseconds, rounded up so that the deadline has passed when the sleep ends; -1 for kNever, and no look at the
// clock.
inline int wait_ms(TimePoint until) {
  if (until == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - monotonic_now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

}  // namespace peal::models
