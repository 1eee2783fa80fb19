// SPDX-License-Identifier: BSD-3-Clause
#include <load/drum/drum_ring.h>

#include <fcntl.h>

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/fd.h>
#include <peal/engine/engines.h>
#include <tests/support/engine_rig.h>

namespace peal::load {
namespace {

using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::StartsWith;

auto exactly(uint64_t receives) { return Each(Field("receives", &DrumRound::receives, receives)); }

DrumOutcome drum(const DrumOptions& options) {
  EXPECT_EQ(drum_trouble(options), "");
  const std::expected<DrumOutcome, std::string> outcome = run_drum(options);
  EXPECT_TRUE(outcome) << outcome.error();
  return outcome.value_or(DrumOutcome());
}

class DrumOnEngine : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (std::string why = why_unsupported(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  DrumOptions options(size_t pairs, size_t active, size_t writes) {
    return {.pairs = pairs, .active = active, .writes = writes, .rounds = 4, .engine = std::string(GetParam())};
  }
};

TEST_P(DrumOnEngine, the_defaults_are_those_of_libevents_bench) {
  DrumOptions defaults;
  defaults.engine = GetParam();
  const DrumOutcome outcome = drum(defaults);
  EXPECT_EQ(outcome.engine, GetParam());
  EXPECT_EQ(outcome.rounds.size(), 25U);
  EXPECT_THAT(outcome.rounds, exactly(1 + 100));
  EXPECT_EQ(outcome.idle_moves, 0U);
}

TEST_P(DrumOnEngine, every_round_ends_after_exactly_the_sticks_and_the_writes) {
  EXPECT_THAT(drum(options(100, 10, 1000)).rounds, exactly(1010));
  EXPECT_THAT(drum(options(100, 1, 1)).rounds, exactly(2));
  EXPECT_THAT(drum(options(100, 10, 5)).rounds, exactly(15)) << "fewer writes than sticks";
}

TEST_P(DrumOnEngine, no_writes_at_all) { EXPECT_THAT(drum(options(50, 7, 0)).rounds, exactly(7)); }

TEST_P(DrumOnEngine, every_pair_holds_a_stick) { EXPECT_THAT(drum(options(60, 60, 600)).rounds, exactly(660)); }

TEST_P(DrumOnEngine, sticks_that_do_not_divide_the_ring) {
  EXPECT_THAT(drum(options(101, 7, 300)).rounds, exactly(307));
  EXPECT_THAT(drum(options(10, 9, 30)).rounds, exactly(39));
}

TEST_P(DrumOnEngine, one_pair_passes_the_stick_to_itself) { EXPECT_THAT(drum(options(1, 1, 20)).rounds, exactly(21)); }

TEST_P(DrumOnEngine, pipes_work_too) {
  DrumOptions pipes = options(40, 4, 400);
  pipes.pipes = true;
  EXPECT_THAT(drum(pipes).rounds, exactly(404));
}

TEST_P(DrumOnEngine, idle_timers_are_moved_by_every_byte_and_none_runs_out) {
  for (const DrumIdle idle : {DrumIdle::kTouch, DrumIdle::kRearm}) {
    DrumOptions timed = options(50, 5, 200);
    timed.idle = idle;
    const DrumOutcome outcome = drum(timed);
    EXPECT_THAT(outcome.rounds, exactly(205));
    EXPECT_EQ(outcome.idle_moves, 4 * (50 + 205)) << "started in each round, then moved by each byte";
    EXPECT_EQ(outcome.idle_ends, 0U);
  }
}

TEST_P(DrumOnEngine, the_engines_counters_tell_waits_and_events) {
  const DrumOutcome outcome = drum(options(100, 10, 90));
  for (const DrumRound& round : outcome.rounds) {
    EXPECT_GE(round.waits, 1U);
    EXPECT_LE(round.waits, 100U);
    EXPECT_GE(round.events, 100U) << "each of the 100 bytes came by an event";
    EXPECT_GE(round.total, round.loop);
    EXPECT_GT(round.loop, Duration::zero());
  }
}

TEST_P(DrumOnEngine, no_fd_is_left_behind) {
  drum(options(1, 1, 1));
  const size_t before = count_open_fds();
  drum(options(100, 10, 100));
  EXPECT_EQ(count_open_fds(), before);
}

INSTANTIATE_TEST_SUITE_P(Engines, DrumOnEngine, testing::Values("epoll", "poll", "select", "io_uring"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST(Drum, auto_chooses_an_engine_that_runs_here) { EXPECT_NE(drum({.rounds = 2}).engine, "auto"); }

TEST(Drum, options_that_make_no_sense_are_refused) {
  EXPECT_EQ(drum_trouble({}), "");
  EXPECT_EQ(drum_trouble({.pairs = 0}), "-n takes 1 to 10000000, not 0");
  EXPECT_EQ(drum_trouble({.active = 0}), "-a takes 1 to 10000000, not 0");
  EXPECT_EQ(drum_trouble({.writes = 2'000'000'000}), "-w takes 0 to 1000000000, not 2000000000");
  EXPECT_EQ(drum_trouble({.rounds = 1}), "--rounds takes 2 to 100000, not 1");
  EXPECT_EQ(drum_trouble({.pairs = 10, .active = 11}), "11 drumsticks are too many for 10 pairs: -a takes at most -n");
}

TEST(Drum, a_drum_beyond_the_fd_limit_is_told_how_many_pairs_fit) {
  EXPECT_EQ(drum_misfit({.pairs = 100}, 1024), "");
  EXPECT_EQ(drum_misfit({.pairs = 496}, 1024), "");
  EXPECT_EQ(drum_misfit({.pairs = 497}, 1024), "this process may open 1024 fds: at most 496 pairs, not 497");
  EXPECT_EQ(drum_misfit({.pairs = 1}, 10), "this process may open 10 fds: at most 0 pairs, not 1");
}

TEST(Drum, select_beyond_fd_setsize_is_refused_with_its_reason) {
  std::vector<Fd> taken;  // uses up the low numbers, so that few pairs get fds below FD_SETSIZE (1024)
  while (taken.empty() || taken.back().get() < 1000) taken.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::expected<DrumOutcome, std::string> outcome = run_drum({.pairs = 30, .engine = "select"});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error(), HasSubstr("only fds below FD_SETSIZE (1024)"));
  EXPECT_THAT(outcome.error(), HasSubstr("so it can watch only 12 of the 30 pairs"));
}

TEST(Drum, idle_timeouts_lie_between_ten_and_eleven_seconds_and_differ) {
  std::set<Duration> seen;
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT_GE(drum_idle_timeout(i), std::chrono::seconds(10));
    EXPECT_LE(drum_idle_timeout(i), std::chrono::seconds(11));
    seen.insert(drum_idle_timeout(i));
  }
  EXPECT_GT(seen.size(), 900U);
}

}  // namespace
}  // namespace peal::load
