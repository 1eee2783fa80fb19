// SPDX-License-Identifier: BSD-3-Clause
// HttpRetry: whether and when an HttpClient asks once more. Off unless asked for. A value; any thread.
//
// Repeated is a request that does no harm twice (GET, HEAD, OPTIONS, TRACE, PUT, DELETE: RFC 9110 9.2.2), or of which
// nothing was sent, because no connection came about; HttpClientRequest::repeats says otherwise for one of them. Never
// one whose body is streamed, and none whose answer has been shown: so start() and open() repeat until on_head, fetch()
// until the answer is whole.
//
// The waits double and are drawn from their whole length ("full jitter"), so that clients that failed together do not
// come back together. Each retry has to be paid for out of what earlier requests have put by, so that a server that
// fails under its load is not asked several times as often.
#pragma once

#include <cstdint>
#include <vector>

#include <peal/base/clock.h>

namespace peal {

struct HttpRetry {
  // In all; 1, the default: none is repeated. Redirects are not counted, nor is the repetition on a dead kept
  // connection, which is always there.
  unsigned attempts = 1;
  // Answers that are no answer yet. With all attempts made, the last one's is shown as it is.
  std::vector<int> statuses = {429, 502, 503, 504};
  // Besides, whatever kept the server from being reached or from completing its answer: connections refused, reset,
  // closed early, cut short, and, if this is on, what took too long but HttpDeadlines::queue and total. Not an answer
  // that is malformed, a name that does not exist, a handshake that failed.
  bool timeouts = true;
  Duration first_delay = std::chrono::milliseconds(100);  // at most, before the second attempt; doubles from there
  Duration longest_delay = std::chrono::seconds(10);
  // A server that names its time (Retry-After, in seconds or as a date: RFC 9110 10.2.3) is not asked before it, and
  // then at a time drawn from the delay that would have been. One that names a later time than this has answered; and
  // so has one whose time lies beyond HttpDeadlines::total.
  Duration longest_retry_after = std::chrono::seconds(30);
  // Of one attempt, redirects included, until its head is there, with fetch() until it is whole:
  // HttpTrouble::kAttemptTimeout. 0: none. HttpDeadlines::total is for all attempts and the waits between them.
  Duration attempt_timeout = {};
  // What may be spent on retries, of the whole client: one each. It begins with `budget`, which is also the most there
  // can be, and each request adds `budget_share`: of requests that all fail one in five is repeated.
  double budget_share = 0.2;
  double budget = 20;
  uint64_t seed = 0;  // of the jitter, for runs that are to be repeated; 0: Engine::random_seed
};

// Whether one request may be sent more than once.
enum class HttpRepeats : uint8_t {
  kWhereHarmless,  // by its method, or because nothing of it was sent
  kAlways,         // it does no harm twice: a POST with an idempotency key, a search
  kNone,           // not even where a kept connection turns out to be dead
};

}  // namespace peal
