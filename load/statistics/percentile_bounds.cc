// SPDX-License-Identifier: BSD-3-Clause
#include <load/statistics/percentile_bounds.h>

#include <algorithm>

#include <load/statistics/significance.h>

namespace peal::load {

std::pair<int64_t, int64_t> percentile_bounds(const Histogram& times, double percent) {
  const uint64_t n = times.total_count();
  if (n == 0) return {0, 0};
  const double share = percent / 100;
  // Returns the smallest k for which the probability P(X <= k) is at least `wanted`. X is the number of successes in
  // `n` trials. Each trial succeeds with the probability `share`. The result is at most `n`, because P(X <= n) is 1.
  const auto rank_at = [n, share](double wanted) {
    uint64_t low = 0;
    uint64_t high = n;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (binomial_at_most(middle, n, share) >= wanted) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const uint64_t first = std::max<uint64_t>(rank_at(kAlpha / 2), 1);
  const uint64_t last = rank_at(1 - kAlpha / 2) + 1;
  int64_t low = times.min();
  int64_t high = times.max();
  bool found_low = false;
  bool found_high = false;
  times.for_each_recorded([&](const Histogram::Bucket& bucket) {
    if (!std::exchange(found_low, found_low || bucket.count_to_here >= first) && found_low) low = bucket.lowest;
    if (!std::exchange(found_high, found_high || bucket.count_to_here >= last) && found_high) high = bucket.highest;
  });
  return {low, high};
}

}  // namespace peal::load
