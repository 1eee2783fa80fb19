// SPDX-License-Identifier: BSD-3-Clause
#include <load/drum/drum_report.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace peal::load {
namespace {

using std::chrono_literals::operator""us;
using testing::HasSubstr;
using testing::Not;

DrumRound round_of(Duration total, Duration loop, uint64_t waits, uint64_t events) {
  return {.total = total, .loop = loop, .waits = waits, .events = events, .receives = 101};
}

DrumOutcome outcome() {
  return {.engine = "epoll",
          .rounds = {round_of(9000us, 8000us, 900, 900), round_of(40us, 30us, 10, 100), round_of(10us, 5us, 10, 100),
                     round_of(20us, 10us, 20, 100), round_of(90us, 75us, 10, 100)}};
}

TEST(DrumReport, figures_leave_the_first_round_out) {
  const DrumFigures figures = drum_figures(outcome().rounds);
  EXPECT_EQ(figures.total.mean, 40us);
  EXPECT_EQ(figures.total.median, 30us) << "between the two in the middle";
  EXPECT_EQ(figures.total.least, 10us);
  EXPECT_EQ(figures.loop.mean, 30us);
  EXPECT_EQ(figures.loop.median, 20us);
  EXPECT_EQ(figures.loop.least, 5us);
  EXPECT_DOUBLE_EQ(figures.waits, 12.5);
  EXPECT_DOUBLE_EQ(figures.events_per_wait, 8.0);
}

TEST(DrumReport, an_odd_number_of_later_rounds_has_a_round_in_the_middle) {
  std::vector<DrumRound> rounds = outcome().rounds;
  rounds.pop_back();
  EXPECT_EQ(drum_figures(rounds).total.median, 20us);
}

TEST(DrumReport, the_text_says_what_was_done_and_what_it_took) {
  const std::string text = drum_text({.pairs = 1000, .active = 100, .idle = DrumIdle::kTouch}, outcome());
  EXPECT_THAT(text, HasSubstr("1000 socketpairs, 100 active, 100 writes, 5 rounds"));
  EXPECT_THAT(text, HasSubstr("touched at each byte, engine epoll"));
  EXPECT_THAT(text, HasSubstr("total       round 1 9000.0 us; later rounds: mean 40.0 us, median 30.0 us, least 10.0"));
  EXPECT_THAT(text, HasSubstr("101 bytes a round in 12.5 waits, 8.0 events each"));
  EXPECT_THAT(text, Not(HasSubstr("heard nothing")));
}

TEST(DrumReport, the_text_counts_watchers_that_were_idle_for_too_long) {
  DrumOutcome slow = outcome();
  slow.idle_ends = 3;
  EXPECT_THAT(drum_text({.idle = DrumIdle::kRearm}, slow), HasSubstr("3 watchers heard nothing"));
}

TEST(DrumReport, the_json_holds_every_round) {
  const nlohmann::json json =
      nlohmann::json::parse(drum_json({.idle = DrumIdle::kRearm, .pipes = true, .engine = "auto"}, outcome()));
  EXPECT_EQ(json["library"], "peal");
  EXPECT_EQ(json["engine"], "epoll");
  EXPECT_EQ(json["pairs"], 100);
  EXPECT_EQ(json["active"], 1);
  EXPECT_EQ(json["writes"], 100);
  EXPECT_EQ(json["timeouts"], true);
  EXPECT_EQ(json["idle"], "rearm");
  EXPECT_EQ(json["transport"], "pipe");
  ASSERT_EQ(json["rounds"].size(), 5U);
  EXPECT_EQ(json["rounds"][1]["total_ns"], 40'000);
  EXPECT_EQ(json["rounds"][1]["loop_ns"], 30'000);
  EXPECT_EQ(json["rounds"][1]["waits"], 10);
  EXPECT_EQ(json["rounds"][1]["events"], 100);
  EXPECT_EQ(json["rounds"][1]["receives"], 101);
  EXPECT_EQ(nlohmann::json::parse(drum_json({}, outcome()))["idle"], "none");
}

}  // namespace
}  // namespace peal::load
