// SPDX-License-Identifier: BSD-3-Clause
// Histogram is an HDR histogram (Gil Tene's HdrHistogram). It counts integers over a wide range and keeps a fixed
// number of significant decimal digits of each. Its memory is fixed at construction. To record a value costs a shift
// and two additions.
//
// Values that differ too little for that precision share a bucket. The first `sub_bucket_count()` buckets are equally
// wide. After them, the width doubles each time the value doubles:
//   2 digits: 256 buckets of width 1, then 128 of width 2, 128 of width 4, ...
// Every reported value is computed from the edges of a bucket, as HdrHistogram does.
//
// A histogram is not thread-safe and has one owner. Histograms of several threads are merged with add().
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <peal/base/assert.h>

namespace peal {

// The range and the precision of a histogram.
struct HistogramOptions {
  std::int64_t lowest = 1;  // the smallest value that is distinguished from 0; rounded down to a power of two
  std::int64_t highest = 3'600'000'000'000;  // one hour in nanoseconds; a larger value is recorded as this one
  int significant_digits = 3;                // 2 to 5; 3 means a precision of 0.1 % and 264 KiB for the range above

  // True if a histogram can be made with these options:
  //   - 1 <= lowest and 2 * lowest <= highest
  //   - 2 to 5 significant digits
  //   - the buckets before the first doubling end at 2^62 or below
  bool valid() const;
  bool operator==(const HistogramOptions&) const = default;
};

class Histogram {
 public:
  // Allocates all memory of the histogram. The maximum is 50 MB, for 5 digits over all of int64. Throws
  // std::invalid_argument if the options are not valid().
  explicit Histogram(const HistogramOptions& options = {});

  // Counts `value`, and returns the index of its bucket in counts(). A value above `highest` is recorded as `highest`,
  // and is counted in clamped_count() too. Throws std::invalid_argument if the value is negative.
  std::size_t record(std::int64_t value) {
    if (static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(options_.highest)) [[unlikely]] {
      value = clamp(value, 1);
    }
    const std::size_t index = index_of(value);
    ++counts_[index];
    ++total_count_;
    return index;
  }

  // Does what `count` calls of record() do. Throws std::invalid_argument if total_count() would reach 2^63.
  void record_n(std::int64_t value, std::uint64_t count);

  // Adds all counts of another histogram. Throws std::invalid_argument if `other` has different options, or if
  // total_count() would reach 2^63.
  void add(const Histogram& other);

  // Sets all counts to 0.
  void reset();

  const HistogramOptions& options() const { return options_; }

  // True if no value has been recorded.
  bool empty() const { return total_count_ == 0; }

  // Returns how many values have been recorded.
  std::uint64_t total_count() const { return total_count_; }

  // Returns how many of the recorded values were above `highest`. Encoded histograms do not contain this number.
  std::uint64_t clamped_count() const { return clamped_count_; }

  // min() returns the lower edge of the lowest bucket that has counts, max() the upper edge of the highest. Both return
  // 0 if the histogram is empty.
  std::int64_t min() const;
  std::int64_t max() const;

  // mean() and standard_deviation() are computed as if each value were the middle of its bucket. Both return 0 if the
  // histogram is empty.
  double mean() const;
  double standard_deviation() const;

  // Returns the upper edge of the first bucket for which this bucket and those below it have `percent` % of all values,
  // rounded to the nearest count. For 0 % the result is min(). Returns 0 if the histogram is empty. Throws
  // std::invalid_argument if `percent` is not between 0 and 100.
  std::int64_t value_at_percentile(double percent) const;

  // Returns how many recorded values are in the bucket of `value` or below. Throws std::invalid_argument if `value` is
  // negative.
  std::uint64_t count_at_or_below(std::int64_t value) const;

  // Returns how many recorded values are in the bucket of `value`. Throws std::invalid_argument if `value` is negative.
  std::uint64_t count_at(std::int64_t value) const;

  // lowest_equivalent(), highest_equivalent() and middle_equivalent() return the lower edge, the upper edge and the
  // middle of the bucket of `value`. `value` must not be negative; this is not checked.
  std::int64_t lowest_equivalent(std::int64_t value) const { return value >> shift_of(value) << shift_of(value); }
  std::int64_t highest_equivalent(std::int64_t value) const {
    return lowest_equivalent(value) + ((std::int64_t{1} << shift_of(value)) - 1);
  }
  std::int64_t middle_equivalent(std::int64_t value) const {
    return lowest_equivalent(value) + ((std::int64_t{1} << shift_of(value)) >> 1);
  }

  // True if both values are in the same bucket.
  bool equivalent(std::int64_t a, std::int64_t b) const { return lowest_equivalent(a) == lowest_equivalent(b); }

  // A bucket and its counts.
  struct Bucket {
    std::int64_t lowest;  // the range of its values, both ends included
    std::int64_t highest;
    std::uint64_t count;          // > 0
    std::uint64_t count_to_here;  // the counts of this bucket and of all lower ones
  };

  // Calls visit(const Bucket&) for each bucket that has counts, in ascending order of value.
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

  // True if the options and all counts are equal. clamped_count() is not compared.
  bool operator==(const Histogram& other) const { return options_ == other.options_ && counts_ == other.counts_; }

  // counts() and value_of() are meant for encodings. counts() returns all counts in ascending order of value.
  // value_of() returns the lower edge of the bucket at an index, and asserts that the index exists.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  std::int64_t value_of(std::size_t index) const;

  // Returns the index of the value's bucket in counts(). The value must be from 0 to `highest`; this is not checked.
  std::size_t index_of(std::int64_t value) const {
    const int shift = shift_of(value);
    return (static_cast<std::size_t>(shift - unit_magnitude_) << half_magnitude_) +
           static_cast<std::size_t>(value >> shift);
  }

  // Adds to the count at `index`. Returns false and adds nothing if the index does not exist, or if total_count() would
  // reach 2^63. Meant for encodings.
  bool add_at(std::size_t index, std::uint64_t count);

  // bucket_count() and sub_bucket_count() describe the array of counts in the terms of HdrHistogram. HdrHistogram calls
  // each bucket of this class a "sub-bucket". It calls a range in which all sub-buckets have the same width a "bucket".
  std::size_t bucket_count() const { return (counts_.size() >> half_magnitude_) - 1; }
  std::size_t sub_bucket_count() const { return std::size_t{2} << half_magnitude_; }

 private:
  // Returns log2 of the width of the value's bucket. In [0, sub_bucket_mask_] a bucket is as wide as `lowest`, rounded
  // down to a power of two. For larger values, each doubling of the value doubles the width.
  int shift_of(std::int64_t value) const {
    return shift_at_zero_clz_ - std::countl_zero(static_cast<std::uint64_t>(value | sub_bucket_mask_));
  }

  // Returns `highest` and adds `count` to clamped_count_. Throws std::invalid_argument if the value is negative.
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
