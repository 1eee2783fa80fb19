// SPDX-License-Identifier: BSD-3-Clause
// HttpStats: plain counters of an HttpServer on one loop. operator+= adds those of another loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace peal {

struct HttpStats {
  uint64_t requests = 0;              // heads that were read, refused ones included
  std::array<uint64_t, 6> answers{};  // final answers, by the first digit of their status
  uint64_t request_body_bytes = 0;    // bytes of bodies, without the framing of chunks
  uint64_t response_body_bytes = 0;   // bytes of bodies, without the framing of chunks
  uint64_t pipelined = 0;             // requests that arrived before the previous answer was complete
  uint64_t malformed = 0;             // requests refused as invalid or ambiguous: 400, 501, 505
  uint64_t tls_hellos = 0;            // requests counted in `malformed` that were TLS, sent to a port without TLS
  uint64_t too_large = 0;             // requests refused by a limit: 413, 414, 431
  uint64_t unrouted = 0;              // requests that the router answered 404, 405 or 501
  uint64_t head_timeouts = 0;         // heads that were not complete in time: 408
  uint64_t body_timeouts = 0;         // bodies that arrived too slowly: 408
  uint64_t answer_timeouts = 0;       // handlers that did not begin an answer in time: 503
  uint64_t idle_timeouts = 0;         // connections closed because they were idle for too long
  uint64_t send_timeouts = 0;         // connections closed because the client read too slowly
  uint64_t abandoned = 0;             // exchanges whose connection ended before the answer was complete
  uint64_t exceptions = 0;            // exceptions that left a handler: 500, or the connection was closed
  uint64_t answered_again = 0;        // second answers of handlers, which were dropped
  uint64_t undrained = 0;             // connections closed because too much of a body was left unread
  uint64_t upgraded = 0;              // connections given to an UpgradeHandler
  uint64_t over_budget = 0;           // bodies refused because the process was above its hard mark: 503
  size_t kept_bytes = 0;              // memory that free exchanges hold now for later requests

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
