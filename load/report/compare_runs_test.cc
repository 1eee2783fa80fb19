// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/compare_runs.h>

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/record/sample_record.h>

namespace peal::load {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Returns a valid run of `steps` seconds. Each second has about `rate` messages with a latency of about `latency` ns,
// both with random noise. The nearer `memory` is to 1, the more the rate of a second depends on that of the second
// before.
NamedRecord run(std::string name, uint64_t seed, double rate, double latency, int steps = 30, bool open_loop = false,
                double memory = 0) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.03);
  double mood = noise(random) / std::sqrt(1 - memory * memory);
  RunRecord record = sample_record({.open_loop = open_loop});
  record.gates.clear();
  Outcome& outcome = record.outcome;
  outcome.intervals.clear();
  outcome.total.latency.reset();
  outcome.total.counts.messages = 0;
  outcome.window = std::chrono::seconds(steps);
  for (int i = 0; i < steps; ++i) {
    mood = memory * mood + noise(random);
    const auto messages = static_cast<uint64_t>(rate * std::exp(mood));
    Interval interval = sample_interval(i, messages, false);
    const auto p50 = static_cast<int64_t>(latency * std::exp(noise(random)));
    interval.p50_ns = p50;
    interval.p90_ns = 2 * p50;
    interval.p99_ns = 4 * p50;
    interval.p999_ns = 8 * p50;
    outcome.total.counts.messages += messages;
    outcome.total.latency.record_n(p50, messages);
    outcome.intervals.push_back(interval);
  }
  return {std::move(name), std::move(record)};
}

Comparison compared(const std::vector<NamedRecord>& first, const std::vector<NamedRecord>& second) {
  auto comparison = compare_runs(first, second);
  EXPECT_TRUE(comparison.has_value()) << comparison.error();
  return std::move(*comparison);
}

bool finds_none_better(const Comparison& comparison) {
  return comparison.conclusion.starts_with("One cannot tell") ||
         comparison.conclusion.starts_with("Neither is better: what was tested");
}

std::vector<NamedRecord> some_runs(int count, uint64_t seed, double rate) {
  std::vector<NamedRecord> runs;
  for (int i = 0; i < count; ++i) {
    runs.push_back(run(fmt::format("{}-{}.json", seed, i), seed + static_cast<uint64_t>(i), rate, 1e6));
  }
  return runs;
}

TEST(CompareRuns, the_faster_of_two_runs) {
  const Comparison comparison = compared({run("a", 1, 10'000, 1e6)}, {run("b", 2, 12'000, 0.8e6)});
  EXPECT_THAT(comparison.conclusion, HasSubstr("b is better: messages/s +"));
  EXPECT_THAT(comparison.conclusion, HasSubstr("latency p99 -"));
  EXPECT_EQ(comparison.rows[0].better, Better::kSecond);
  EXPECT_THAT(comparison.notes, testing::Contains(HasSubstr("it cannot show how much runs differ from one another")));
  const std::string text = comparison_text(comparison);
  EXPECT_THAT(text, HasSubstr("second is better\n"));
  EXPECT_THAT(text, testing::EndsWith(comparison.conclusion + "\n"));
  EXPECT_THAT(compared({run("a", 1, 12'000, 0.8e6)}, {run("b", 2, 10'000, 1e6)}).conclusion, HasSubstr("a is better"));
}

TEST(CompareRuns, equal_runs_cannot_be_told_apart_in_nineteen_of_twenty_comparisons) {
  int wrong = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const Comparison comparison =
        compared({run("a", 1000 + 2 * i, 10'000, 1e6)}, {run("b", 1001 + 2 * i, 10'000, 1e6)});
    wrong += finds_none_better(comparison) ? 0 : 1;
  }
  EXPECT_LE(wrong, 19) << "10 are expected; 19 is three standard deviations more";
}

TEST(CompareRuns, equal_runs_whose_intervals_resemble_each_other_cannot_be_told_apart_either) {
  for (const int steps : {10, 30, 60}) {
    int wrong = 0;
    for (uint64_t i = 0; i < 200; ++i) {
      const Comparison comparison = compared({run("a", 1000 + 2 * i, 10'000, 1e6, steps, false, 0.5)},
                                             {run("b", 1001 + 2 * i, 10'000, 1e6, steps, false, 0.5)});
      wrong += comparison.rows[0].better == Better::kCannotTell ? 0 : 1;
    }
    EXPECT_LE(wrong, 19) << steps << " intervals: 10 are expected; 19 is three standard deviations more";
  }
}

TEST(CompareRuns, the_ratio_is_that_of_the_two_and_its_interval_holds_it) {
  int held = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const Comparison comparison =
        compared({run("a", 1000 + 2 * i, 10'000, 1e6)}, {run("b", 1001 + 2 * i, 12'500, 1e6)});
    held += comparison.rows[0].difference->holds(1.25) ? 1 : 0;
    EXPECT_EQ(comparison.rows[0].better, Better::kSecond);
  }
  EXPECT_GE(held, 181) << "190 are expected; 181 is three standard deviations less";
}

TEST(CompareRuns, level_runs_are_called_level) {
  std::vector<NamedRecord> runs = some_runs(8, 100, 10'000);
  std::vector<NamedRecord> same = runs;
  for (NamedRecord& each : same) each.name += " again";
  EXPECT_EQ(compared(runs, same).conclusion, "Neither is better: what was tested differs by less than 2 %.");
  EXPECT_THAT(comparison_text(compared(runs, same)), HasSubstr("1.000 (1.000 to 1.000), p 1: level\n"));
}

TEST(CompareRuns, a_side_with_more_messages_but_longer_latency) {
  const Comparison comparison = compared({run("a", 1, 10'000, 1e6)}, {run("b", 2, 12'000, 1.5e6)});
  EXPECT_THAT(comparison.conclusion, HasSubstr("Neither is better throughout: a (latency p50 -"));
}

TEST(CompareRuns, a_schedule_fixes_the_rate) {
  const Comparison comparison = compared({run("a", 1, 10'000, 1e6, 30, true)}, {run("b", 2, 12'000, 1e6, 30, true)});
  EXPECT_EQ(comparison.rows[0].remark, "the schedule fixes it");
  EXPECT_FALSE(comparison.rows[0].difference.has_value());
}

TEST(CompareRuns, too_few_intervals_say_nothing) {
  const Comparison comparison = compared({run("a", 1, 10'000, 1e6, 9)}, {run("b", 2, 20'000, 1e6, 9)});
  EXPECT_EQ(comparison.rows[0].remark, "fewer than 10 intervals a run");
  EXPECT_EQ(comparison.conclusion, "One cannot tell which is better: there is too little to test.");
}

TEST(CompareRuns, several_runs_a_side_are_the_unit) {
  const Comparison four = compared(some_runs(8, 100, 10'000), some_runs(8, 200, 12'000));
  EXPECT_EQ(four.rows[0].better, Better::kSecond) << comparison_text(four);
  EXPECT_THAT(four.notes, IsEmpty());
  const Comparison more = compared(some_runs(5, 100, 10'000), some_runs(12, 200, 12'000));
  EXPECT_EQ(more.rows[0].better, Better::kSecond) << comparison_text(more);
  EXPECT_EQ(more.rows[0].difference->restarts(), 5U) << "as many parts as the side with fewer has runs";
  const Comparison three = compared(some_runs(3, 100, 10'000), some_runs(8, 200, 12'000));
  EXPECT_EQ(three.rows[0].remark, "fewer than 4 runs a side");
  const Comparison same = compared(some_runs(8, 100, 10'000), some_runs(8, 300, 10'000));
  EXPECT_TRUE(finds_none_better(same)) << same.conclusion;
}

// Returns `count` runs. In each run there were a thousand handshakes, which took about `time` ns.
std::vector<NamedRecord> runs_with_handshakes(int count, uint64_t seed, double time) {
  std::vector<NamedRecord> runs = some_runs(count, seed, 10'000);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.03);
  for (NamedRecord& each : runs) {
    each.record.options.layer_text = "TLS";
    each.record.outcome.handshakes.emplace().times.record_n(static_cast<int64_t>(time * std::exp(noise(random))), 1000);
  }
  return runs;
}

TEST(CompareRuns, handshakes_are_compared_where_both_sides_have_them) {
  const auto row = [](const Comparison& comparison, std::string_view name) {
    const auto found = std::ranges::find(comparison.rows, name, &Comparison::Row::name);
    return found == comparison.rows.end() ? std::optional<Comparison::Row>() : *found;
  };
  const Comparison eight = compared(runs_with_handshakes(8, 100, 2e6), runs_with_handshakes(8, 200, 1e6));
  for (const char* name : {"handshake p50", "handshake p99"}) {
    ASSERT_TRUE(row(eight, name)) << name;
    EXPECT_EQ(row(eight, name)->better, Better::kSecond) << comparison_text(eight);
  }
  const Comparison one = compared(runs_with_handshakes(1, 100, 2e6), runs_with_handshakes(1, 200, 1e6));
  EXPECT_EQ(row(one, "handshake p50")->remark, "a run has only one value");
  std::vector<NamedRecord> few = runs_with_handshakes(8, 200, 1e6);
  few[0].record.outcome.handshakes->times.reset();
  few[0].record.outcome.handshakes->times.record_n(1'000'000, 100);
  const Comparison hundred = compared(runs_with_handshakes(8, 100, 2e6), few);
  EXPECT_EQ(row(hundred, "handshake p50")->better, Better::kSecond);
  EXPECT_EQ(row(hundred, "handshake p99")->remark, "fewer than 10 samples above it");
  const Comparison plain = compared(some_runs(8, 100, 10'000), runs_with_handshakes(8, 200, 1e6));
  EXPECT_FALSE(row(plain, "handshake p50"));
  EXPECT_THAT(plain.notes, testing::Contains(HasSubstr("layers none and TLS")));
}

TEST(CompareRuns, an_invalid_run_concludes_nothing) {
  NamedRecord broken = run("b", 2, 20'000, 1e6);
  broken.record.gates.push_back({"errors", Verdict::kInvalid, "Unexpected errors."});
  const Comparison comparison = compared({run("a", 1, 10'000, 1e6)}, {broken});
  EXPECT_TRUE(comparison.invalid);
  EXPECT_THAT(comparison.conclusion, HasSubstr("One cannot tell: a run that is INVALID"));
  EXPECT_THAT(comparison.notes, testing::Contains("b is INVALID: Unexpected errors."));
}

TEST(CompareRuns, runs_with_different_options) {
  NamedRecord other = run("b", 2, 10'000, 1e6);
  other.record.options.size = 128;
  EXPECT_THAT(compared({run("a", 1, 10'000, 1e6)}, {other}).notes, testing::Contains(HasSubstr("sizes 64 and 128")));
  EXPECT_THAT(compare_runs({run("a", 1, 1e4, 1e6), other}, {other}).error(), HasSubstr("cannot be on the same side"));
  other.record.experiment = "http";
  EXPECT_THAT(compare_runs({run("a", 1, 1e4, 1e6)}, {other}).error(), HasSubstr("cannot be compared"));
}

}  // namespace
}  // namespace peal::load
