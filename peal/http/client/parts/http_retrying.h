// SPDX-License-Identifier: BSD-3-Clause
// What a client and each of its requests remember where requests are repeated; see http_retry.h. On the client's loop.
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

// Of a client: what may be spent, and the dice.
class HttpRetryBudget {
 public:
  // A share or a budget that is negative or no number: std::invalid_argument; so are delays out of order.
  HttpRetryBudget(const HttpRetry& policy, uint64_t seed);

  void earn() { tokens_ = std::min(most_, tokens_ + share_); }
  bool spend() {
    if (tokens_ < 1) return false;
    --tokens_;
    return true;
  }
  // Before attempt number `next`, from 2 on.
  Duration draw_delay(const HttpRetry& policy, unsigned next);

 private:
  const double share_;
  const double most_;
  double tokens_ = most_;
  std::mt19937_64 random_;
};

// Of a request.
struct HttpRetrying {
  unsigned attempts = 1;  // begun
  bool whole = false;     // its answer is collected, and so may begin anew
  bool planned = false;   // the answer that is being discarded was no answer; then
  Duration delay = {};
  TimerId attempt_timer;
  TimePoint total_at = kNever;  // HttpDeadlines::total
};

// Whether another attempt may go better.
bool may_pass(std::error_code error, const HttpRetry& policy);
// What Retry-After says, from now on, as the server's clock has it (Date) or, without that, this machine's. Nothing:
// there is none, or it is malformed.
std::optional<Duration> retry_after(const HttpResponseHead& head);

}  // namespace peal::detail
