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
  // The most attempts of one request, the first included; 1, the default, means no retry. Redirects are not counted.
  // The repetition after a kept connection was dead is not counted either, and happens without HttpRetry too.
  unsigned attempts = 1;

  // Answers with these statuses are retried. The answer of the last attempt is shown as it is. If a proxy refuses a
  // tunnel with such a status, that is retried too.
  std::vector<int> statuses = {429, 502, 503, 504};

  // True if timeouts are retried as well, except HttpDeadlines::queue and HttpDeadlines::total. These errors are always
  // retried: a connection was refused, reset or closed early, an answer was cut short, or a network or name server
  // could not be reached. These are never retried: a malformed answer, a name that does not exist, a failed handshake.
  bool timeouts = true;

  // The full length of the delay before the second attempt. This length doubles with each further attempt, up to
  // `longest_delay`; the delay itself is drawn between 0 and this length.
  Duration first_delay = std::chrono::milliseconds(100);
  Duration longest_delay = std::chrono::seconds(10);

  // The longest Retry-After of a server that is accepted (RFC 9110 10.2.3: seconds, or a date). The next attempt then
  // comes after that time and a drawn delay. If Retry-After is longer, or the attempt would begin after
  // HttpDeadlines::total, the answer is shown as it is.
  Duration longest_retry_after = std::chrono::seconds(30);

  // The longest time of one attempt, redirects included, until the answer's head has arrived; with fetch(), until the
  // answer is complete. Then the attempt fails with HttpTrouble::kAttemptTimeout. 0 means no limit.
  // HttpDeadlines::total limits all attempts and the delays together.
  Duration attempt_timeout = {};

  // The budget for retries, which all requests of the client share. It starts at `budget`, its maximum; each retry
  // takes 1 and each request adds `budget_share`. With 0.2, about one in five requests is repeated if all of them fail.
  double budget_share = 0.2;
  double budget = 20;

  // The seed of the random delays, for runs that must be repeatable; 0 takes Engine::random_seed.
  uint64_t seed = 0;
};

// Says whether one request may be sent more than once.
enum class HttpRepeats : uint8_t {
  kWhereHarmless,  // if its method does no harm twice, or if nothing of it was sent
  kAlways,         // the application knows that it does no harm twice: a POST with an idempotency key, a search
  kNone,           // never, not even after a kept connection turned out to be dead
};

}  // namespace peal
