// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/statistics.h>

#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace peal::models {
namespace {

TEST(StatisticsTest, tally_is_added_and_cleared) {
  Result<Statistics> statistics = Statistics::make();
  ASSERT_TRUE(statistics.has_value());
  EXPECT_EQ(statistics->to_string(), "accepted 0 connections, served 0 to their end, answered 0 requests");
  Tally tally{.accepted = 3, .ended = 2, .requests = 40, .too_large = 1};
  statistics->add(tally);
  EXPECT_EQ(tally.accepted + tally.ended + tally.requests + tally.too_large, 0u);
  statistics->add(tally);
  tally.respawned = 7;
  statistics->add(tally);
  EXPECT_EQ(statistics->sum().requests, 40u);
  EXPECT_EQ(statistics->to_string(),
            "accepted 3 connections, served 2 to their end, answered 40 requests; "
            "1 closed for a frame that was too large; 7 processes replaced");
}

TEST(StatisticsTest, every_field_is_counted_by_itself) {
  Result<Statistics> statistics = Statistics::make();
  ASSERT_TRUE(statistics.has_value());
  Tally tally{.accepted = 1,
              .ended = 2,
              .requests = 3,
              .too_large = 4,
              .timed_out = 5,
              .refused = 6,
              .waited = 7,
              .overflows = 8,
              .respawned = 9};
  statistics->add(tally);
  const Tally sum = statistics->sum();
  EXPECT_EQ(sum.accepted, 1u);
  EXPECT_EQ(sum.ended, 2u);
  EXPECT_EQ(sum.requests, 3u);
  EXPECT_EQ(sum.too_large, 4u);
  EXPECT_EQ(sum.timed_out, 5u);
  EXPECT_EQ(sum.refused, 6u);
  EXPECT_EQ(sum.waited, 7u);
  EXPECT_EQ(sum.overflows, 8u);
  EXPECT_EQ(sum.respawned, 9u);
}

TEST(StatisticsTest, threads_and_forked_processes_count_in_the_same_place) {
  Result<Statistics> made = Statistics::make();
  ASSERT_TRUE(made.has_value());
  Statistics statistics = std::move(*made);
  const auto count = [&] {
    Tally tally;
    for (int i = 0; i < 1000; ++i) {
      ++tally.requests;
      statistics.add(tally);
    }
  };
  const pid_t child = ::fork();
  if (child == 0) {
    count();
    ::_exit(0);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(count);
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(statistics.sum().requests, 4000u);
}

}  // namespace
}  // namespace peal::models
