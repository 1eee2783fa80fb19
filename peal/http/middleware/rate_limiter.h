// SPDX-License-Identifier: BSD-3-Clause
// RateLimiter: admits, on average, so many requests of each key in a given time. Any number of loops may share one. The
// class knows nothing of HTTP. The middleware rate_limit() asks it for each request, and answers 429 (RFC 6585 4) with
// Retry-After to what it refuses.
//
//   const auto limiter = std::make_shared<peal::RateLimiter>(peal::RateLimiterOptions{.requests = 100});
//   api.use(peal::rate_limit(limiter));
//
// The method is the generic cell rate algorithm: it keeps one time stamp of 8 bytes for each key. So there is no
// counter that returns to zero at the end of each period. Refused requests do not count. Memory is bounded by `keys`:
// if a set of the table is full, a new key replaces the one whose limit would be free soonest. The replaced key starts
// with a full allowance when it comes again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/http/server/http_handler.h>

namespace peal {

struct RateLimiterOptions {
  // The rate of each key: this number of requests in the time `per`, on average. `burst` says how many may come at
  // once.
  uint32_t requests = 100;
  Duration per = std::chrono::seconds(1);
  // The number of requests that may come at once after a pause. 0 means as many as `requests`.
  uint32_t burst = 0;
  // The number of keys that the table has room for, with 16 bytes each. It is rounded up to the next number of the form
  // 8 * 2^n.
  size_t keys = 65'536;
};

class RateLimiter {
 public:
  // Throws std::invalid_argument if `requests` or `keys` is 0, or if `per` is not positive.
  explicit RateLimiter(const RateLimiterOptions& options);
  ~RateLimiter();
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;

  // Returns zero if a request of `key` may go ahead now, and counts it. Otherwise returns how long the client should
  // wait, and counts nothing. Any thread; each loop that shares the limiter passes its own now().
  Duration admit(std::string_view key, TimePoint now);
  // Requests admitted and refused so far. Any thread.
  uint64_t admitted() const;
  uint64_t refused() const;

 private:
  class Table;
  const std::unique_ptr<Table> table_;
};

// Returns the key of a request: all requests with the same key share one limit. A request with an empty key is not
// limited. Called on the exchange's loop, and on several loops at the same time.
using RateLimitKey = std::function<std::string(const HttpExchange&)>;

// Without `key` a request counts for the client's address. For IPv6 that is the /64 network, because one client usually
// has all of it. All clients of a unix socket count as one. HttpServerOptions::remember_peer saves the system call that
// asks for the address.
//
// Behind a proxy all requests come from the proxy's address. Then pass a `key` that reads the field in which the proxy
// names the client. The proxy must overwrite that field, or clients could choose their own key.
HttpMiddleware rate_limit(std::shared_ptr<RateLimiter> limiter, RateLimitKey key = {});

}  // namespace peal
