// SPDX-License-Identifier: BSD-3-Clause
// The layout of the array of counts, and the statistics that are computed from it.
#include <peal/observe/histogram.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <peal/base/bad_value.h>

namespace peal {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr std::uint64_t kMaxTotal = std::numeric_limits<std::int64_t>::max();

// Returns log2 of half the number of sub-buckets. The number of sub-buckets is the smallest power of two that is at
// least 2 * 10^digits, so that each value up to 2 * 10^digits has a sub-bucket of its own.
int half_magnitude_for(int digits) {
  std::uint64_t units = 2;
  for (int i = 0; i < digits; ++i) units *= 10;
  return static_cast<int>(std::bit_width(units - 1)) - 1;
}

// Returns log2 of `lowest`, rounded down.
int unit_magnitude_for(std::int64_t lowest) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(lowest))) - 1;
}

}  // namespace

bool HistogramOptions::valid() const {
  if (significant_digits < 2 || significant_digits > 5) return false;
  if (lowest < 1 || highest / 2 < lowest) return false;
  return unit_magnitude_for(lowest) + half_magnitude_for(significant_digits) + 1 <= 62;
}

Histogram::Histogram(const HistogramOptions& options) : options_(options) {
  if (!options.valid()) {
    throw_bad_value("a histogram cannot cover {} to {} with {} significant digits", options.lowest, options.highest,
                    options.significant_digits);
  }
  unit_magnitude_ = unit_magnitude_for(options.lowest);
  half_magnitude_ = half_magnitude_for(options.significant_digits);
  shift_at_zero_clz_ = 63 - half_magnitude_;
  sub_bucket_mask_ = ((std::int64_t{2} << half_magnitude_) - 1) << unit_magnitude_;
  const int doublings = shift_of(options.highest) - unit_magnitude_;
  counts_.resize(static_cast<std::size_t>(doublings + 2) << half_magnitude_);
}

std::int64_t Histogram::clamp(std::int64_t value, std::uint64_t count) {
  if (value < 0) throw_bad_value("a histogram has no count for the negative value {}", value);
  clamped_count_ += count;
  return options_.highest;
}

void Histogram::record_n(std::int64_t value, std::uint64_t count) {
  if (count > kMaxTotal - total_count_)
    throw_bad_value("{} more values would bring the total of {} to 2^63 or above", count, total_count_);
  if (static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(options_.highest)) value = clamp(value, count);
  counts_[index_of(value)] += count;
  total_count_ += count;
}

void Histogram::add(const Histogram& other) {
  if (options_ != other.options_) {
    throw_bad_value("a histogram of {} to {} with {} digits cannot be added to one of {} to {} with {} digits",
                    other.options_.lowest, other.options_.highest, other.options_.significant_digits, options_.lowest,
                    options_.highest, options_.significant_digits);
  }
  if (other.total_count_ > kMaxTotal - total_count_) {
    throw_bad_value("{} more values would bring the total of {} to 2^63 or above", other.total_count_, total_count_);
  }
  std::transform(counts_.begin(), counts_.end(), other.counts_.begin(), counts_.begin(), std::plus<>());
  total_count_ += other.total_count_;
  clamped_count_ += other.clamped_count_;
}

bool Histogram::add_at(std::size_t index, std::uint64_t count) {
  if (index >= counts_.size() || count > kMaxTotal - total_count_) return false;
  counts_[index] += count;
  total_count_ += count;
  return true;
}

void Histogram::reset() {
  std::fill(counts_.begin(), counts_.end(), 0);
  total_count_ = 0;
  clamped_count_ = 0;
}

std::int64_t Histogram::value_of(std::size_t index) const {
  PEAL_ASSERT(index < counts_.size(), "index {} of {} counts", index, counts_.size());
  const std::size_t half = std::size_t{1} << half_magnitude_;
  const std::size_t doublings = index < 2 * half ? 0 : (index >> half_magnitude_) - 1;
  return static_cast<std::int64_t>(index - doublings * half) << (static_cast<int>(doublings) + unit_magnitude_);
}

std::int64_t Histogram::min() const {
  const auto first = std::find_if(counts_.begin(), counts_.end(), [](std::uint64_t count) { return count != 0; });
  return first == counts_.end() ? 0 : value_of(static_cast<std::size_t>(first - counts_.begin()));
}

std::int64_t Histogram::max() const {
  const auto last = std::find_if(counts_.rbegin(), counts_.rend(), [](std::uint64_t count) { return count != 0; });
  if (last == counts_.rend()) return 0;
  return highest_equivalent(value_of(static_cast<std::size_t>(counts_.rend() - last) - 1));
}

double Histogram::mean() const {
  if (empty()) return 0;
  Uint128 sum = 0;  // no overflow: all values, and the sum of all counts, are below 2^63
  for_each_recorded([&](const Bucket& bucket) {
    sum += Uint128{bucket.count} * static_cast<std::uint64_t>(middle_equivalent(bucket.lowest));
  });
  return static_cast<double>(sum) / static_cast<double>(total_count_);
}

double Histogram::standard_deviation() const {
  if (empty()) return 0;
  const double average = mean();
  double squares = 0;
  for_each_recorded([&](const Bucket& bucket) {
    const double deviation = static_cast<double>(middle_equivalent(bucket.lowest)) - average;
    squares += deviation * deviation * static_cast<double>(bucket.count);
  });
  return std::sqrt(squares / static_cast<double>(total_count_));
}

std::int64_t Histogram::value_at_percentile(double percent) const {
  if (!(percent >= 0 && percent <= 100)) throw_bad_value("percentile {} is not between 0 and 100", percent);
  if (empty()) return 0;
  const double exact = percent * static_cast<double>(total_count_) / 100 + 0.5;
  // If the total is above 2^53, `exact` may have been rounded up to more than the total.
  const auto target = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact), 1, total_count_);
  std::size_t index = 0;
  std::uint64_t count_to_here = counts_[index];
  while (count_to_here < target) {
    ++index;
    count_to_here += counts_[index];
  }
  return percent == 0 ? value_of(index) : highest_equivalent(value_of(index));
}

std::uint64_t Histogram::count_at_or_below(std::int64_t value) const {
  if (value < 0) throw_bad_value("a histogram has no count for the negative value {}", value);
  const std::size_t end = std::min(index_of(value) + 1, counts_.size());
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < end; ++i) count += counts_[i];
  return count;
}

std::uint64_t Histogram::count_at(std::int64_t value) const {
  if (value < 0) throw_bad_value("a histogram has no count for the negative value {}", value);
  const std::size_t index = index_of(value);
  return index < counts_.size() ? counts_[index] : 0;
}

}  // namespace peal
