// SPDX-License-Identifier: BSD-3-Clause
// HttpRetry: says whether and when an HttpClient sends a failed request again. Off by default. A value; any thread.
//
// A request is sent again if a repetition does no harm. That is so if its method is GET, HEAD, OPTIONS, TRACE, PUT or
// DELETE (RFC 9110 9.2.2), or if no connection came about and so nothing was sent. HttpClientRequest::repeats changes
// this for one request. Two kinds of requests are never sent again: those with a streamed body, and those whose answer
// the application has seen. So start() and open() retry until on_head, fetch() until the answer is complete.
//
// The delays between attempts double. Each delay is drawn between 0 and its full length ("full jitter"), so that
// clients that failed together do not retry together. Retries are limited by a budget that requests fill up. A server
// that fails under load is therefore not asked several times as often.
#pragma once

#include <cstdint>
#include <vector>

#include <peal/base/clock.h>

namespace peal {

struct HttpRetry {
  // The most attempts for one request, including the first; 1, the default, means no retry. Redirects are not
  // counted. A request that is sent again because a kept connection was dead is not counted either; this happens even
  // without HttpRetry.
  unsigned attempts = 1;

  // The statuses of answers after which the request is retried. If the last attempt gets such an answer, the
  // application gets that answer. If a proxy refuses a tunnel with such a status, the request is retried too.
  std::vector<int> statuses = {429, 502, 503, 504};

  // True if timeouts are retried as well, except HttpDeadlines::queue and HttpDeadlines::total. These errors are always
  // retried, even if this option is false:
  // - a connection was refused, reset or closed early;
  // - an answer was cut short;
  // - a network or name server could not be reached.
  // These errors are never retried: a malformed answer, a name that does not exist, a failed handshake.
  bool timeouts = true;

  // The upper bound of the delay before the second attempt. The bound doubles with each further attempt, up to
  // `longest_delay`. The delay itself is drawn at random between 0 and the bound.
  Duration first_delay = std::chrono::milliseconds(100);
  Duration longest_delay = std::chrono::seconds(10);

  // The longest Retry-After of a server that is accepted (RFC 9110 10.2.3: seconds, or a date). The next attempt begins
  // when that time plus a random delay has passed. The request is not retried, and the application gets the answer, if
  // Retry-After is longer or the attempt would begin after HttpDeadlines::total.
  Duration longest_retry_after = std::chrono::seconds(30);

  // The longest time from the start of an attempt, including redirects, until the answer's head has arrived; with
  // fetch(), until the answer is complete. A longer attempt fails with HttpTrouble::kAttemptTimeout. 0 means no limit.
  // The total time of all attempts and delays is limited by HttpDeadlines::total.
  Duration attempt_timeout = {};

  // The budget for retries, which all requests of the client share. It begins with `budget`, which is also its maximum.
  // Each request adds `budget_share`, and each retry takes 1. With a share of 0.2, about one in five requests is
  // retried if all of them fail.
  double budget_share = 0.2;
  double budget = 20;

  // The seed of the random delays, for runs that must be repeatable. If 0, Engine::random_seed is used.
  uint64_t seed = 0;
};

// Says whether one request may be sent more than once.
enum class HttpRepeats : uint8_t {
  kWhereHarmless,  // if its method does no harm twice, or if nothing of it was sent
  kAlways,         // the application knows that it does no harm twice: a POST with an idempotency key, a search
  kNone,           // never, not even after a kept connection turned out to be dead
};

}  // namespace peal
