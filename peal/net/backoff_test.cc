// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/backoff.h>

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, delays_double_up_to_the_longest_each_from_its_upper_half) {
  Backoff backoff(milliseconds(100), seconds(1), 7);
  for (int most : {100, 200, 400, 800, 1000, 1000, 1000}) {
    Duration delay = backoff.next();
    EXPECT_GE(delay, milliseconds(most / 2));
    EXPECT_LE(delay, milliseconds(most));
  }
}

TEST(Backoff, reset_starts_anew) {
  Backoff backoff(milliseconds(10), seconds(100), 7);
  for (int i = 0; i < 10; ++i) backoff.next();
  EXPECT_GT(backoff.next(), milliseconds(10));
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds(10));
}

TEST(Backoff, only_a_connection_that_lasted_starts_anew) {
  Backoff backoff(milliseconds(10), seconds(5), 7);
  for (int i = 0; i < 20; ++i) {
    backoff.next();
    backoff.lost_after(seconds(5) - milliseconds(1));
  }
  EXPECT_GE(backoff.next(), milliseconds(2500));
  backoff.lost_after(seconds(5));
  EXPECT_LE(backoff.next(), milliseconds(10));
}

// A thousand clients lose their server at once and fail to reach it four times. The time over which they return is cut
// into fifty parts; no part may hold more than three times its share.
TEST(Backoff, neighbouring_seeds_come_far_apart_from_the_first_time_on) {
  constexpr int kClients = 1000;
  constexpr int kParts = 50;
  std::vector<Backoff> clients;
  std::vector<Duration> when(kClients);
  for (int i = 0; i < kClients; ++i) clients.emplace_back(seconds(1), seconds(60), static_cast<uint64_t>(i));
  Duration least{};
  Duration most{};
  for (Duration step : {seconds(1), seconds(2), seconds(4), seconds(8)}) {
    least += step / 2;
    most += step;
    std::vector<int> counts(kParts);
    for (int i = 0; i < kClients; ++i) {
      when[i] += clients[i].next();
      ++counts[std::min<size_t>(kParts - 1, static_cast<size_t>((when[i] - least) * kParts / (most - least)))];
    }
    EXPECT_LE(*std::ranges::max_element(counts), 3 * kClients / kParts)
        << "of those that waited up to " << most.count();
  }
}

TEST(Backoff, same_seed_same_delays_and_other_seeds_others) {
  std::set<Duration> firsts;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Backoff one(seconds(1), seconds(8), seed);
    Backoff two(seconds(1), seconds(8), seed);
    firsts.insert(one.next());
    two.next();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(one.next(), two.next());
  }
  EXPECT_GT(firsts.size(), 15u);
}

TEST(Backoff, draws_fill_the_upper_half) {
  Backoff backoff(seconds(1), seconds(1), 3);
  Duration least = Duration::max();
  Duration most = Duration::zero();
  for (int i = 0; i < 1000; ++i) {
    Duration delay = backoff.next();
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, milliseconds(500));
  EXPECT_LT(least, milliseconds(510));
  EXPECT_GT(most, milliseconds(990));
  EXPECT_LE(most, seconds(1));
}

TEST(Backoff, huge_delays_do_not_overflow) {
  Backoff backoff(Duration::max() / 3, Duration::max(), 3);
  for (int i = 0; i < 5; ++i) EXPECT_GT(backoff.next(), Duration::zero());
}

TEST(BackoffDeathTest, delays_that_make_no_sense_are_a_programmers_error) {
  EXPECT_DEATH(Backoff(Duration::zero(), seconds(1), 1), "back-off");
  EXPECT_DEATH(Backoff(seconds(2), seconds(1), 1), "back-off");
}

}  // namespace
}  // namespace peal::detail
