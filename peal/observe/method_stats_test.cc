// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/method_stats.h>

#include <stdexcept>

#include <gmock/gmock.h>

namespace peal {
namespace {

MethodStats counted(std::string name, uint64_t calls, int64_t latency_ns) {
  MethodStats stats{.name = std::move(name), .calls = calls};
  stats.latency.record(latency_ns);
  return stats;
}

TEST(MethodStats, sum_has_every_counter_and_every_latency) {
  MethodStats sum{.name = "a", .calls = 1, .failed = 2, .timed_out = 3, .cancelled = 4, .threw = 5, .under_way = 6};
  sum.latency.record(1'000'000);
  MethodStats other{
      .name = "a", .calls = 10, .failed = 20, .timed_out = 30, .cancelled = 40, .threw = 50, .under_way = 60};
  other.latency.record(2'000'000);
  sum.add(other);
  EXPECT_EQ(sum.calls, 11u);
  EXPECT_EQ(sum.failed, 22u);
  EXPECT_EQ(sum.timed_out, 33u);
  EXPECT_EQ(sum.cancelled, 44u);
  EXPECT_EQ(sum.threw, 55u);
  EXPECT_EQ(sum.under_way, 66u);
  EXPECT_EQ(sum.latency.total_count(), 2u);
}

TEST(MethodStats, latency_of_another_shape_is_refused_and_nothing_is_added) {
  MethodStats sum = counted("a", 1, 5000);
  const MethodStats finer{.name = "a", .calls = 7, .latency = Histogram({.significant_digits = 3})};
  EXPECT_THROW(sum.add(finer), std::invalid_argument);
  EXPECT_EQ(sum.calls, 1u);
}

TEST(MethodStats, methods_are_added_by_name_in_whatever_order_they_come) {
  std::vector<MethodStats> sum;
  add_methods(sum, {counted("a", 1, 5000), counted("b", 2, 5000)});
  add_methods(sum, {counted("a", 10, 5000), counted("b", 20, 5000)});
  add_methods(sum, {counted("b", 200, 5000), counted("c", 300, 5000), counted("a", 100, 5000)});
  ASSERT_EQ(sum.size(), 3u);
  EXPECT_EQ(sum[0].name, "a");
  EXPECT_EQ(sum[0].calls, 111u);
  EXPECT_EQ(sum[1].name, "b");
  EXPECT_EQ(sum[1].calls, 222u);
  EXPECT_EQ(sum[2].name, "c");
  EXPECT_EQ(sum[2].calls, 300u);
  EXPECT_EQ(sum[1].latency.total_count(), 3u);
}

}  // namespace
}  // namespace peal
