// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/middleware/rate_limiter.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include <peal/base/bad_value.h>
#include <peal/base/socket_address.h>
#include <peal/loop/loop.h>

namespace peal {

// A hash table of sets with eight places each: the hash of a key chooses its set. The hash function has secrets that
// are random for each table, so an attacker cannot choose keys that fall into one set.
class RateLimiter::Table {
 public:
  explicit Table(const RateLimiterOptions& options) {
    if (options.requests == 0 || options.keys == 0 || options.per <= Duration::zero()) {
      throw_bad_value("a rate limit of {} requests in {} ns for {} keys", options.requests, options.per.count(),
                      options.keys);
    }
    const uint32_t burst = options.burst == 0 ? options.requests : options.burst;
    interval_ = std::clamp<int64_t>(options.per.count() / options.requests, 1, kMost);
    tolerance_ = interval_ > kMost / burst ? kMost : interval_ * (burst - 1);
    sets_ = std::vector<Set>(std::bit_ceil((options.keys + kWays - 1) / kWays));
    std::random_device random;
    for (uint64_t& secret : secrets_) secret = uint64_t{random()} << 32 | random() | 1;
  }

  Duration admit(std::string_view key, int64_t now) {
    const uint64_t hash = hash_of(key);
    const size_t at = (hash >> 32) & (sets_.size() - 1);
    Set& set = sets_[at];
    const std::lock_guard lock(locks_[at % locks_.size()]);
    Place* place = &set.front();
    for (Place& each : set) {
      if (each.hash == hash) {
        place = &each;
        break;
      }
      if (each.full_until < place->full_until) place = &each;
    }
    if (place->hash != hash) *place = {.hash = hash, .full_until = INT64_MIN};
    const int64_t from = std::max(place->full_until, now);
    if (from - now > tolerance_) {
      refused.fetch_add(1, std::memory_order_relaxed);
      return Duration(from - now - tolerance_);
    }
    place->full_until = from + interval_;
    admitted.fetch_add(1, std::memory_order_relaxed);
    return {};
  }

  std::atomic<uint64_t> admitted = 0;
  std::atomic<uint64_t> refused = 0;

 private:
  static constexpr size_t kWays = 8;
  static constexpr int64_t kMost = INT64_MAX / 4;  // about 73 years in nanoseconds
  struct Place {
    uint64_t hash = 0;
    int64_t full_until = INT64_MIN;  // the time at which the next request is due if requests come evenly spread
  };
  using Set = std::array<Place, kWays>;

  // Mixes two words into one. Both halves of the 128-bit product go into the result, so that every bit of the input
  // changes many bits of it.
  static uint64_t mix(uint64_t a, uint64_t b) {
    __extension__ using Product = unsigned __int128;
    const Product product = static_cast<Product>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  uint64_t hash_of(std::string_view key) const {
    const uint64_t length = key.size();
    uint64_t hash = secrets_[0];
    while (!key.empty()) {
      uint64_t word = 0;
      const size_t bytes = std::min(key.size(), sizeof word);
      std::memcpy(&word, key.data(), bytes);
      hash = mix(hash ^ word ^ secrets_[1], hash + secrets_[2]);
      key.remove_prefix(bytes);
    }
    return mix(hash ^ secrets_[3], length + secrets_[4]) | 1;  // never 0, which marks an empty place
  }

  int64_t interval_;   // nanoseconds between two requests that come evenly spread
  int64_t tolerance_;  // nanoseconds that a request may come before it is due: the burst
  std::vector<Set> sets_;
  std::array<std::mutex, 64> locks_;  // each guards every 64th set
  std::array<uint64_t, 5> secrets_{};
};

RateLimiter::RateLimiter(const RateLimiterOptions& options) : table_(std::make_unique<Table>(options)) {}
RateLimiter::~RateLimiter() = default;

Duration RateLimiter::admit(std::string_view key, TimePoint now) {
  return table_->admit(key, now.time_since_epoch().count());
}
uint64_t RateLimiter::admitted() const { return table_->admitted.load(std::memory_order_relaxed); }
uint64_t RateLimiter::refused() const { return table_->refused.load(std::memory_order_relaxed); }

HttpMiddleware rate_limit(std::shared_ptr<RateLimiter> limiter, RateLimitKey key) {
  return [limiter = std::move(limiter), key = std::move(key)](HttpExchange& exchange, HttpNext next) {
    Duration wait{};
    const TimePoint now = exchange.loop().now();
    if (key) {
      const std::string whose = key(exchange);
      if (!whose.empty()) wait = limiter->admit(whose, now);
    } else {
      const SocketAddress::ClientKey client = exchange.peer_address().value_or(SocketAddress()).client_key();
      wait = limiter->admit({client.data(), client.size()}, now);
    }
    if (wait == Duration::zero()) return next(exchange);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    exchange.set_field("Retry-After", std::to_string(seconds));
    exchange.respond(429);
  };
}

}  // namespace peal
