// SPDX-License-Identifier: BSD-3-Clause
// HttpRetryBudget and HttpRetrying: the state of retries, of a client and of one of its requests (http_retry.h says
// what retries are). Both are used on the client's loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <system_error>

#include <peal/base/clock.h>
#include <peal/http/client/http_retry.h>
#include <peal/loop/timer_wheel.h>
#include <peal/wire/http/http_response_head.h>

namespace peal::detail {

// The budget for retries of one client, and the random numbers that draw their delays.
class HttpRetryBudget {
 public:
  // Throws std::invalid_argument if the share or the budget is negative or NaN, if first_delay is negative, or if
  // longest_delay is shorter than first_delay.
  HttpRetryBudget(const HttpRetry& policy, uint64_t seed);

  // Adds the share of one request.
  void earn() { tokens_ = std::min(most_, tokens_ + share_); }
  // Takes 1 for a retry. Returns false and takes nothing if less is left.
  bool spend() {
    if (tokens_ < 1) return false;
    --tokens_;
    return true;
  }
  // Draws the delay before attempt number `next`; the first retry is attempt 2.
  Duration draw_delay(const HttpRetry& policy, unsigned next);

 private:
  const double share_;
  const double most_;
  double tokens_ = most_;
  std::mt19937_64 random_;
};

// The retries of one request.
struct HttpRetrying {
  unsigned attempts = 1;  // how many attempts have begun or are planned
  bool whole = false;     // the answer is collected, so that an attempt that fails in its body may be repeated
  bool planned = false;   // another attempt follows after the answer that is being discarded
  Duration delay = {};    // the delay before the planned attempt
  TimerId attempt_timer;
  TimePoint total_at = kNever;  // when HttpDeadlines::total passes; kNever without that deadline
};

// Returns true if `error` is one that HttpRetry repeats: another attempt may succeed.
bool may_pass(std::error_code error, const HttpRetry& policy);
// Returns the time from now until the one in Retry-After; nullopt if that field is missing or malformed. "Now" is the
// answer's Date, or the time of this machine if there is no Date.
std::optional<Duration> retry_after(const HttpResponseHead& head);

}  // namespace peal::detail
