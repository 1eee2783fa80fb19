// SPDX-License-Identifier: BSD-3-Clause
// An HDR histogram (Gil Tene's HdrHistogram): counts of integers over a wide range, each kept to a fixed number of
// significant decimal digits, in memory fixed at construction. Recording is a shift and two additions.
//
// Values share a bucket when they cannot be told apart at that precision. Buckets double in width each time the
// value doubles past the first `sub_bucket_count` units:
//   2 digits: 256 buckets of width 1, then 128 of width 2, 128 of width 4, ...
// Everything reported about values is the edge of a bucket, as HdrHistogram reports it.
// Not thread-safe: one owner records; histograms of several threads are merged with add().
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <peal/base/assert.h>

namespace peal {

struct HistogramOptions {
  std::int64_t lowest = 1;                   // smallest value told from 0; rounded down to a power of two
  std::int64_t highest = 3'600'000'000'000;  // an hour of nanoseconds; what is above is clamped and counted
  int significant_digits = 3;                // 2 to 5: 3 keeps 0.1 %, in 264 KiB for the range above

  // 1 <= lowest, 2 * lowest <= highest, 2 to 5 digits, and the first doubling fits in 62 bits.
  bool valid() const;
  bool operator==(const HistogramOptions&) const = default;
};

class Histogram {
 public:
  // Allocates all it will ever need: at most 50 MB, at 5 digits over all of int64. Options that are not valid() are
  // refused, std::invalid_argument; so is, below, every value that may not be.
  explicit Histogram(const HistogramOptions& options = {});

  // `value` >= 0. One above `highest` is recorded as `highest` and counted in clamped_count().
  void record(std::int64_t value) {
    if (static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(options_.highest)) [[unlikely]] {
      value = clamp(value, 1);
    }
    ++counts_[index_of(value)];
    ++total_count_;
  }
  // The same, `count` times. The total stays below 2^63.
  void record_n(std::int64_t value, std::uint64_t count);
  // Adds the counts of a histogram made with the same options.
  void add(const Histogram& other);
  void reset();

  const HistogramOptions& options() const { return options_; }
  bool empty() const { return total_count_ == 0; }
  std::uint64_t total_count() const { return total_count_; }
  // How many of them were above `highest`. The encodings do not carry it.
  std::uint64_t clamped_count() const { return clamped_count_; }

  // The lowest value equivalent to the smallest one recorded, the highest equivalent to the largest; 0 when empty.
  std::int64_t min() const;
  std::int64_t max() const;
  // Of the middles of the buckets; 0 when empty.
  double mean() const;
  double standard_deviation() const;
  // The highest value equivalent to the smallest one that `percent` % of the counts, rounded to the nearest count,
  // do not exceed; at 0, the lowest equivalent of the smallest one. 0 <= percent <= 100. 0 when empty.
  std::int64_t value_at_percentile(double percent) const;
  // How many of the recorded values are equivalent to `value` or smaller; `value` >= 0.
  std::uint64_t count_at_or_below(std::int64_t value) const;
  std::uint64_t count_at(std::int64_t value) const;

  // The edges of the bucket `value` falls in; `value` >= 0.
  std::int64_t lowest_equivalent(std::int64_t value) const { return value >> shift_of(value) << shift_of(value); }
  std::int64_t highest_equivalent(std::int64_t value) const {
    return lowest_equivalent(value) + ((std::int64_t{1} << shift_of(value)) - 1);
  }
  std::int64_t middle_equivalent(std::int64_t value) const {
    return lowest_equivalent(value) + ((std::int64_t{1} << shift_of(value)) >> 1);
  }
  bool equivalent(std::int64_t a, std::int64_t b) const { return lowest_equivalent(a) == lowest_equivalent(b); }

  struct Bucket {
    std::int64_t lowest;  // the values it stands for, both ends included
    std::int64_t highest;
    std::uint64_t count;          // > 0
    std::uint64_t count_to_here;  // its own and those of all smaller values
  };
  // Calls visit(const Bucket&) for every bucket that has counts, in ascending order.
  template <class Visit>
  void for_each_recorded(Visit visit) const {
    std::uint64_t count_to_here = 0;
    for (std::size_t i = 0; count_to_here < total_count_; ++i) {
      if (counts_[i] == 0) continue;
      count_to_here += counts_[i];
      const std::int64_t lowest = value_of(i);
      visit(Bucket{lowest, highest_equivalent(lowest), counts_[i], count_to_here});
    }
  }

  // The options and the counts are the same; what was clamped does not matter.
  bool operator==(const Histogram& other) const { return options_ == other.options_ && counts_ == other.counts_; }

  // For encodings: the counts, in ascending order of value; HdrHistogram's names for the shape of the array.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  std::int64_t value_of(std::size_t index) const;
  // Adds to the count at `index`. False, and nothing added, if there is none or the total would reach 2^63.
  bool add_at(std::size_t index, std::uint64_t count);
  std::size_t bucket_count() const { return (counts_.size() >> half_magnitude_) - 1; }
  std::size_t sub_bucket_count() const { return std::size_t{2} << half_magnitude_; }

 private:
  // Values in [0, sub_bucket_mask_] are stored in units of `lowest`; above, each doubling shifts one bit further.
  int shift_of(std::int64_t value) const {
    return shift_at_zero_clz_ - std::countl_zero(static_cast<std::uint64_t>(value | sub_bucket_mask_));
  }
  std::size_t index_of(std::int64_t value) const {
    const int shift = shift_of(value);
    return (static_cast<std::size_t>(shift - unit_magnitude_) << half_magnitude_) +
           static_cast<std::size_t>(value >> shift);
  }
  std::int64_t clamp(std::int64_t value, std::uint64_t count);

  HistogramOptions options_;
  int unit_magnitude_;     // log2 of `lowest`, rounded down
  int half_magnitude_;     // log2 of half the sub-buckets
  int shift_at_zero_clz_;  // the shift of a value with no leading zero
  std::int64_t sub_bucket_mask_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_count_ = 0;
  std::uint64_t clamped_count_ = 0;
};

}  // namespace peal
