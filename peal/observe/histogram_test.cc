// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/histogram.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

namespace peal {
namespace {

constexpr std::int64_t kMaxValue = std::numeric_limits<std::int64_t>::max();

TEST(Histogram, empty_answers_zero) {
  const Histogram histogram;
  EXPECT_TRUE(histogram.empty());
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.standard_deviation(), 0);
  EXPECT_EQ(histogram.value_at_percentile(50), 0);
  EXPECT_EQ(histogram.count_at_or_below(kMaxValue), 0u);
  histogram.for_each_recorded([](const Histogram::Bucket&) { FAIL(); });
}

TEST(Histogram, which_options_are_valid) {
  EXPECT_TRUE(HistogramOptions{}.valid());
  EXPECT_TRUE((HistogramOptions{1, 2, 2}.valid()));
  EXPECT_TRUE((HistogramOptions{1, kMaxValue, 5}.valid()));
  EXPECT_FALSE((HistogramOptions{0, 100, 3}.valid()));
  EXPECT_FALSE((HistogramOptions{-1, 100, 3}.valid()));
  EXPECT_FALSE((HistogramOptions{51, 101, 3}.valid()));
  EXPECT_FALSE((HistogramOptions{1, -5, 3}.valid()));
  EXPECT_FALSE((HistogramOptions{1, 1000, 1}.valid()));
  EXPECT_FALSE((HistogramOptions{1, 1000, 6}.valid()));
  EXPECT_TRUE((HistogramOptions{std::int64_t{1} << 54, kMaxValue, 2}.valid()));
  EXPECT_FALSE((HistogramOptions{std::int64_t{1} << 55, kMaxValue, 2}.valid()));
}

TEST(Histogram, every_value_lies_within_its_bucket_and_the_precision_asked_for) {
  for (int digits = 2; digits <= 5; ++digits) {
    const Histogram histogram({.lowest = 1, .highest = kMaxValue, .significant_digits = digits});
    for (int bit = 0; bit < 63; ++bit) {
      for (std::int64_t value :
           {(std::int64_t{1} << bit) - 1, std::int64_t{1} << bit, (std::int64_t{1} << bit) / 7 * 5}) {
        const std::int64_t low = histogram.lowest_equivalent(value), high = histogram.highest_equivalent(value);
        ASSERT_LE(low, value);
        ASSERT_GE(high, value);
        ASSERT_LE(static_cast<double>(high - low), static_cast<double>(value) * std::pow(10, -digits)) << value;
        ASSERT_TRUE(histogram.equivalent(low, high));
        ASSERT_GE(histogram.middle_equivalent(value), low);
        ASSERT_LE(histogram.middle_equivalent(value), high);
        ASSERT_TRUE(low == 0 || !histogram.equivalent(low, low - 1));
        ASSERT_TRUE(high == kMaxValue || !histogram.equivalent(high, high + 1));
      }
    }
  }
}

TEST(Histogram, indexes_and_values_are_each_other_s_inverse) {
  for (const std::int64_t lowest : {1, 3, 1000}) {
    Histogram histogram({.lowest = lowest, .highest = kMaxValue, .significant_digits = 2});
    std::int64_t next = 0;
    for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
      ASSERT_EQ(histogram.value_of(i), next);  // the buckets have no gap and no overlap
      histogram.record(histogram.value_of(i));
      ASSERT_EQ(histogram.counts()[i], 1u);
      const std::int64_t highest = histogram.highest_equivalent(next);
      if (i + 1 == histogram.counts().size()) {
        ASSERT_EQ(highest, kMaxValue);
      } else {
        next = highest + 1;
      }
    }
  }
}

TEST(Histogram, values_below_the_lowest_share_a_bucket) {
  Histogram histogram({.lowest = 1000, .highest = 1'000'000, .significant_digits = 2});
  histogram.record(0);
  histogram.record(511);
  histogram.record(512);
  EXPECT_EQ(histogram.count_at(0), 2u);
  EXPECT_EQ(histogram.count_at(1000), 1u);
  EXPECT_EQ(histogram.max(), 1023);
}

TEST(Histogram, percentiles_of_a_hundred_values) {
  Histogram histogram({.lowest = 1, .highest = 10'000, .significant_digits = 3});
  for (int i = 1; i <= 100; ++i) histogram.record(i);
  EXPECT_EQ(histogram.value_at_percentile(0), 1);
  EXPECT_EQ(histogram.value_at_percentile(1), 1);
  EXPECT_EQ(histogram.value_at_percentile(50), 50);
  EXPECT_EQ(histogram.value_at_percentile(99), 99);
  EXPECT_EQ(histogram.value_at_percentile(99.4), 99);
  EXPECT_EQ(histogram.value_at_percentile(99.5), 100);
  EXPECT_EQ(histogram.value_at_percentile(100), 100);
  EXPECT_EQ(histogram.min(), 1);
  EXPECT_EQ(histogram.max(), 100);
  EXPECT_DOUBLE_EQ(histogram.mean(), 50.5);
  EXPECT_DOUBLE_EQ(histogram.standard_deviation(), std::sqrt((100.0 * 100.0 - 1) / 12));
  EXPECT_EQ(histogram.count_at_or_below(30), 30u);
  EXPECT_EQ(histogram.count_at_or_below(kMaxValue), 100u);
  EXPECT_EQ(histogram.count_at(kMaxValue), 0u);
}

TEST(Histogram, agrees_with_sorted_samples_within_its_precision) {
  Histogram histogram;
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(11, 1.5);
  std::vector<std::int64_t> samples;
  for (int i = 0; i < 100'000; ++i) {
    samples.push_back(static_cast<std::int64_t>(latency(random)));
    histogram.record(samples.back());
  }
  std::sort(samples.begin(), samples.end());
  for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto rank = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(percent * 1000)));
    EXPECT_TRUE(histogram.equivalent(histogram.value_at_percentile(percent), samples[rank - 1])) << percent;
  }
  for (const std::int64_t value : {samples[10], samples[50'000], samples[99'990]}) {
    const auto end = std::upper_bound(samples.begin(), samples.end(), histogram.highest_equivalent(value));
    EXPECT_EQ(histogram.count_at_or_below(value), static_cast<std::uint64_t>(end - samples.begin()));
  }
}

TEST(Histogram, what_is_above_the_highest_is_clamped_and_counted) {
  Histogram histogram({.lowest = 1, .highest = 10'000, .significant_digits = 3});
  histogram.record(10'000);
  EXPECT_EQ(histogram.clamped_count(), 0u);
  histogram.record(10'001);
  histogram.record(kMaxValue);
  histogram.record_n(20'000, 3);
  EXPECT_EQ(histogram.clamped_count(), 5u);
  EXPECT_EQ(histogram.total_count(), 6u);
  EXPECT_EQ(histogram.count_at(10'000), 6u);
  EXPECT_TRUE(histogram.equivalent(histogram.max(), 10'000));
}

TEST(Histogram, adding_is_recording_both) {
  Histogram one, two, both;
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const auto value = static_cast<std::int64_t>(random() >> (20 + random() % 30));
    (i % 3 == 0 ? one : two).record(value);
    both.record(value);
  }
  ASSERT_GT(both.clamped_count(), 0u);
  one.add(two);
  EXPECT_EQ(one, both);
  EXPECT_EQ(one.total_count(), both.total_count());
  EXPECT_EQ(one.clamped_count(), both.clamped_count());
  one.reset();
  EXPECT_EQ(one, Histogram());
  EXPECT_TRUE(one.empty());
  EXPECT_EQ(one.clamped_count(), 0u);
}

TEST(Histogram, buckets_are_visited_in_order_with_running_counts) {
  Histogram histogram;
  histogram.record_n(5, 2);
  histogram.record_n(5000, 3);
  std::vector<Histogram::Bucket> buckets;
  histogram.for_each_recorded([&](const Histogram::Bucket& bucket) { buckets.push_back(bucket); });
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].lowest, 5);
  EXPECT_EQ(buckets[0].highest, 5);
  EXPECT_EQ(buckets[0].count_to_here, 2u);
  EXPECT_EQ(buckets[1].lowest, 5000);
  EXPECT_EQ(buckets[1].highest, 5003);
  EXPECT_EQ(buckets[1].count, 3u);
  EXPECT_EQ(buckets[1].count_to_here, 5u);
}

TEST(Histogram, totals_past_what_doubles_hold_keep_their_percentiles) {
  Histogram histogram;
  histogram.record_n(1, kMaxValue - 1);
  histogram.record(1000);
  EXPECT_EQ(histogram.value_at_percentile(50), 1);
  EXPECT_EQ(histogram.value_at_percentile(100), 1000);
}

TEST(Histogram, values_that_it_cannot_take_are_refused_and_change_nothing) {
  using Refused = std::invalid_argument;
  Histogram histogram;
  EXPECT_THROW(Histogram({.lowest = 0}), Refused);
  EXPECT_THROW(histogram.record(-1), Refused);
  EXPECT_THROW(histogram.value_at_percentile(100.5), Refused);
  EXPECT_THROW(histogram.value_at_percentile(std::nan("")), Refused);
  EXPECT_THROW(histogram.count_at(-1), Refused);
  EXPECT_THROW(histogram.count_at_or_below(-1), Refused);
  EXPECT_THROW(histogram.add(Histogram({.significant_digits = 2})), Refused);
  EXPECT_FALSE(histogram.add_at(histogram.counts().size(), 1));
  EXPECT_EQ(histogram, Histogram());
  histogram.record_n(1, kMaxValue);
  EXPECT_THROW(histogram.record_n(1, 1), Refused);
  EXPECT_THROW(histogram.add(histogram), Refused);
  EXPECT_EQ(histogram.total_count(), uint64_t{kMaxValue});
}

}  // namespace
}  // namespace peal
