// SPDX-License-Identifier: BSD-3-Clause
// RateLimiter: so many requests of each key in so much time, and no more; any number of loops share one. RateLimiter
// knows nothing of HTTP; rate_limit() is middleware over it, which answers 429 (RFC 6585 4) with Retry-After.
//
//   const auto limiter = std::make_shared<peal::RateLimiter>(peal::RateLimiterOptions{.requests = 100});
//   api.use(peal::rate_limit(limiter));
//
// It is the generic cell rate algorithm: a key has one time stamp, a request is 8 bytes read and written, and there is
// no moment at which a counter jumps back to zero. Requests refused do not count. Memory is bounded: of keys that share
// a place in the table the one that has been quiet for longest makes way, whose limit begins anew.
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
  // So many in `per`, evenly spread...
  uint32_t requests = 100;
  Duration per = std::chrono::seconds(1);
  // ...and so many at once, after a rest; 0: `requests`.
  uint32_t burst = 0;
  // 16 bytes each.
  size_t keys = 65'536;
};

class RateLimiter {
 public:
  // std::invalid_argument: 0 requests or keys, a time that is not positive.
  explicit RateLimiter(const RateLimiterOptions& options);
  ~RateLimiter();
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;

  // Zero: it may go ahead, and counts. Else how long to wait. Any thread: loops that share it each give their own
  // now().
  Duration admit(std::string_view key, TimePoint now);
  uint64_t admitted() const;
  uint64_t refused() const;

 private:
  class Table;
  const std::unique_ptr<Table> table_;
};

// Whose limit a request counts for; an empty key has none. Called on the exchange's loop.
using RateLimitKey = std::function<std::string(const HttpExchange&)>;

// The key is by default the client's address, of IPv6 its network (/64), since a client has all of that; clients of a
// unix socket are one. HttpServerOptions::remember_peer saves the system call that finds it out. Behind a proxy
// everybody has the proxy's address: give a key that reads what the proxy says, if clients cannot say it too.
HttpMiddleware rate_limit(std::shared_ptr<RateLimiter> limiter, RateLimitKey key = {});

}  // namespace peal
