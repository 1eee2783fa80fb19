// SPDX-License-Identifier: BSD-3-Clause
// In these tests, a function plays the server: it returns whether a rate holds, which means that the server keeps up
// with it. Some of these functions add random noise.
#include <load/plan/rate_search.h>

#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

RateSearch searched(const RateSearchOptions& options, const std::function<bool(double)>& holds) {
  RateSearch search(options);
  while (const std::optional<double> rate = search.next()) {
    EXPECT_GE(*rate, options.lowest);
    EXPECT_LE(*rate, options.highest);
    search.tell(holds(*rate));
  }
  EXPECT_LE(search.trials(), options.most_trials);
  return search;
}

TEST(RateSearch, finds_the_edge_to_five_percent_from_below_and_from_above) {
  for (const double edge : {1234.0, 40.0, 87'654.0, 1000.0, 999.0, 5e8}) {
    const RateSearch search = searched({}, [edge](double rate) { return rate <= edge; });
    ASSERT_TRUE(search.confirmed()) << edge;
    EXPECT_LE(*search.answer(), edge);
    EXPECT_GE(*search.answer() * 1.05, edge * 0.9999);
    EXPECT_FALSE(search.at_the_top());
  }
}

TEST(RateSearch, a_server_that_holds_whatever_comes) {
  const RateSearch search = searched({.highest = 50'000}, [](double) { return true; });
  EXPECT_TRUE(search.at_the_top());
  EXPECT_EQ(search.answer(), 50'000);
}

TEST(RateSearch, a_server_that_never_holds) {
  const RateSearch search = searched({}, [](double) { return false; });
  EXPECT_FALSE(search.answer().has_value());
  EXPECT_FALSE(search.confirmed());
}

TEST(RateSearch, one_failure_by_chance_does_not_end_the_doubling) {
  int trials = 0;
  const RateSearch search = searched({}, [&trials](double rate) { return ++trials != 1 && rate <= 20'000; });
  EXPECT_GE(*search.answer() * 1.05, 20'000);
}

TEST(RateSearch, a_winner_by_chance_is_found_out) {
  bool lucky = true;
  const RateSearch search = searched({.start = 8000}, [&lucky](double rate) {
    if (rate > 9000 && rate < 12'000) return std::exchange(lucky, false);  // true only the first time
    return rate <= 8500;
  });
  ASSERT_TRUE(search.confirmed());
  EXPECT_LE(*search.answer(), 8500);
  EXPECT_GE(*search.answer(), 8000);
}

TEST(RateSearch, the_only_rate_that_held_did_so_by_chance) {
  int trials = 0;
  // The start rate of 1000 holds in the first trial. After that, no rate above 500 holds.
  const RateSearch search = searched({}, [&trials](double rate) { return ++trials == 1 || rate <= 500; });
  ASSERT_TRUE(search.confirmed());
  EXPECT_LE(*search.answer(), 500);
}

TEST(RateSearch, a_rate_that_does_not_hold_between_rates_that_do) {
  const RateSearch search = searched({}, [](double rate) { return rate <= 30'000 && !(rate > 5000 && rate < 7000); });
  ASSERT_TRUE(search.confirmed());
  EXPECT_LE(*search.answer(), 30'000);
  EXPECT_GE(*search.answer(), 4700) << "at least to the first edge";
}

TEST(RateSearch, below_a_winner_by_chance_the_search_takes_steps_as_small) {
  // The first seven trials double the rate from 1000 to 64,000, and all of them hold. After that, only rates up to
  // 50,000 hold. The search must find that limit to 5 %.
  int trials = 0;
  const RateSearch search = searched({}, [&trials](double rate) { return ++trials <= 7 || rate <= 50'000; });
  ASSERT_TRUE(search.confirmed());
  EXPECT_LE(*search.answer(), 50'000);
  EXPECT_GE(*search.answer() * 1.05, 50'000 * 0.9999);
}

TEST(RateSearch, noise_around_the_edge_moves_the_answer_little) {
  std::mt19937_64 random(20260105);
  std::normal_distribution<double> noise(0, 0.02);
  int far = 0;
  for (int i = 0; i < 500; ++i) {
    const RateSearch search = searched({}, [&](double rate) { return rate * (1 + noise(random)) <= 10'000; });
    if (!search.confirmed() || *search.answer() < 8500 || *search.answer() > 10'500) ++far;
  }
  EXPECT_LE(far, 5);
}

TEST(RateSearch, the_trials_run_out) {
  const RateSearch search = searched({.most_trials = 5}, [](double rate) { return rate <= 1e6; });
  EXPECT_EQ(search.trials(), 5U);
  EXPECT_FALSE(search.confirmed());
  EXPECT_EQ(search.answer(), 16'000);
}

}  // namespace
}  // namespace peal::load
