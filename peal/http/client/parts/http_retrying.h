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

// The budget for retries that all requests of one client share. Also has the random number generator from which the
// delays before retries are drawn.
class HttpRetryBudget {
 public:
  // Throws std::invalid_argument if budget_share or budget is negative or NaN, if first_delay is negative, or if
  // longest_delay is shorter than first_delay.
  HttpRetryBudget(const HttpRetry& policy, uint64_t seed);

  // Adds HttpRetry::budget_share to the budget; called once for each request.
  void earn() { tokens_ = std::min(most_, tokens_ + share_); }
  // Takes 1 from the budget for a retry. If less than 1 is left, takes nothing and returns false.
  bool spend() {
    if (tokens_ < 1) return false;
    --tokens_;
    return true;
  }
  // Draws the random delay before attempt number `next`. The first retry is attempt 2.
  Duration draw_delay(const HttpRetry& policy, unsigned next);

 private:
  const double share_;
  const double most_;
  double tokens_ = most_;
  std::mt19937_64 random_;
};

// The state of one request that HttpRetry may repeat.
struct HttpRetrying {
  unsigned attempts = 1;  // how many attempts have begun or are planned
  bool whole = false;     // the answer is collected, so that an attempt that fails in its body may be repeated
  bool planned = false;   // another attempt follows after the answer that is being discarded
  Duration delay = {};    // the delay before the planned attempt
  TimerId attempt_timer;
  TimePoint total_at = kNever;  // when HttpDeadlines::total passes; kNever without that deadline
};

// Returns true if `error` is one after which HttpRetry repeats a request, because another attempt may succeed.
bool may_pass(std::error_code error, const HttpRetry& policy);
// Returns the time from now until the time in Retry-After; nullopt if that field is missing or malformed. "Now" is the
// answer's Date. If there is no Date, it is the time of this machine.
std::optional<Duration> retry_after(const HttpResponseHead& head);

}  // namespace peal::detail
