// SPDX-License-Identifier: BSD-3-Clause
// Plain counters of an HttpServer on one loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace peal {

struct HttpStats {
  uint64_t requests = 0;              // heads that were read, the refused ones included
  std::array<uint64_t, 6> answers{};  // final ones, by the first digit of their status
  uint64_t request_body_bytes = 0;    // chunk framing taken off
  uint64_t response_body_bytes = 0;   // the same
  uint64_t pipelined = 0;             // requests that were there before the answer to the one before was complete
  uint64_t malformed = 0;             // refused as no HTTP, or as ambiguous: 400, 501, 505
  uint64_t tls_hellos = 0;            // of those, by clients that speak TLS to a port without it
  uint64_t too_large = 0;             // refused by a limit: 413, 414, 431
  uint64_t unrouted = 0;              // 404 and 405 of the router
  uint64_t head_timeouts = 0;         // a head that was not complete in time: 408
  uint64_t body_timeouts = 0;         // a body that came too slowly: 408
  uint64_t answer_timeouts = 0;       // handlers that had not begun an answer in time: 503
  uint64_t idle_timeouts = 0;         // closed between two requests
  uint64_t send_timeouts = 0;         // answers that were read too slowly
  uint64_t abandoned = 0;             // the connection ended before the answer was complete
  uint64_t exceptions = 0;            // left a handler: 500, or the end of the connection
  uint64_t answered_again = 0;        // what handlers answered besides the answer: dropped
  uint64_t undrained = 0;             // closed because too much of a body was left unread
  uint64_t upgraded = 0;
  uint64_t over_budget = 0;  // bodies that were refused because the process was above its hard mark: 503
  size_t kept_bytes = 0;     // memory that free exchanges hold now, for later requests

  HttpStats& operator+=(const HttpStats& other) {
    requests += other.requests;
    for (size_t i = 0; i < answers.size(); ++i) answers[i] += other.answers[i];
    request_body_bytes += other.request_body_bytes;
    response_body_bytes += other.response_body_bytes;
    pipelined += other.pipelined;
    malformed += other.malformed;
    tls_hellos += other.tls_hellos;
    too_large += other.too_large;
    unrouted += other.unrouted;
    head_timeouts += other.head_timeouts;
    body_timeouts += other.body_timeouts;
    answer_timeouts += other.answer_timeouts;
    idle_timeouts += other.idle_timeouts;
    send_timeouts += other.send_timeouts;
    abandoned += other.abandoned;
    exceptions += other.exceptions;
    answered_again += other.answered_again;
    undrained += other.undrained;
    upgraded += other.upgraded;
    over_budget += other.over_budget;
    kept_bytes += other.kept_bytes;
    return *this;
  }
};

}  // namespace peal
