// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/arrival_text.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tests/support/files/temporary_folder.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr Duration kRun = 10s;

std::string trouble(std::string_view text, double rate = 0) {
  const auto plan = parse_arrivals(text, rate, kRun);
  return plan ? "none" : plan.error();
}

class ArrivalFile : public testing::Test {
 protected:
  std::string write(std::string_view text) const { return "file:" + folder_.write("times", text); }

  const test::TemporaryFolder folder_;
};

TEST(ArrivalText, constant_and_poisson_take_the_rate) {
  EXPECT_EQ(parse_arrivals("constant", 200, kRun)->due(10), 50ms);
  const auto poisson = parse_arrivals("poisson", 200, kRun);
  ASSERT_TRUE(poisson);
  EXPECT_EQ(poisson->kind(), ArrivalPlan::Kind::kPoisson);
  EXPECT_EQ(poisson->poisson_rate(), 200);
}

TEST(ArrivalText, a_poisson_rate_that_a_thread_cannot_draw_is_refused) {
  EXPECT_TRUE(parse_arrivals("poisson", 5e6, kRun));
  EXPECT_EQ(parse_arrivals("poisson", 1e9, kRun).error(),
            "--arrivals: 'poisson' draws each arrival, so its rate may be at most 5000000/s");
}

TEST(ArrivalText, a_ramp_lasts_as_long_as_it_says_or_as_the_run) {
  EXPECT_EQ(parse_arrivals("ramp:1000/s..20k/s over 30s", 0, kRun)->expected_count(0s, 30s), 315'000);
  EXPECT_EQ(parse_arrivals("ramp:1000..20000", 0, kRun)->expected_count(0s, 10s), 105'000);
  EXPECT_EQ(parse_arrivals("ramp: 0/s .. 20000/s  over  500ms ", 0, kRun)->expected_count(0s, 500ms), 5000);
}

TEST(ArrivalText, steps_and_bursts) {
  EXPECT_EQ(parse_arrivals("step:1000/s,2000/s,4000/s every 5s", 0, kRun)->due(15'000), 10s);
  EXPECT_EQ(parse_arrivals("step:1000/s, 0 ,1k every 1s", 0, kRun)->due(1000), 2s);
  EXPECT_EQ(parse_arrivals("burst:100 every 50ms", 0, kRun)->due(250), 100ms);
}

TEST_F(ArrivalFile, its_times_are_read_exactly) {
  const auto plan =
      parse_arrivals(write("# offset\n0\n\n  0.000000001 # a comment\r\n1.5\t\n1.5\n1000.000000007"), 0, kRun);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->due(0), 0ns);
  EXPECT_EQ(plan->due(1), 1ns);
  EXPECT_EQ(plan->due(2), 1500ms);
  EXPECT_EQ(plan->due(3), 1500ms);
  EXPECT_EQ(plan->due(4), 1000s + 7ns);
  EXPECT_EQ(plan->due(5), kNotDue);
}

TEST_F(ArrivalFile, a_bad_line_is_named) {
  EXPECT_THAT(trouble(write("1\n2\n1.9\n")), HasSubstr("goes back in time in line 3"));
  EXPECT_THAT(trouble(write("1\nsoon\n")), HasSubstr("'soon' in line 2"));
  for (const std::string_view line :
       {"-1", "1e3", "1.", ".5", "0.0000000001", "700000", "604800.1", "1 2", "99999999999999999999", "+1", "1.5s"}) {
    EXPECT_THAT(trouble(write(line)), HasSubstr(fmt::format("'{}' in line 1", line)));
  }
  EXPECT_THAT(trouble(write(std::string_view("1\0x\n", 4))), HasSubstr("in line 1"));
  EXPECT_THAT(trouble(write("1\n" + std::string(10'000, '7'))), HasSubstr("more than 256 bytes in line 2"));
}

TEST_F(ArrivalFile, a_file_without_arrivals_or_that_cannot_be_read) {
  EXPECT_THAT(trouble(write("")), HasSubstr("no arrival"));
  EXPECT_THAT(trouble(write("# nothing\n\n")), HasSubstr("no arrival"));
  EXPECT_THAT(trouble("file:" + folder_.path("missing")), HasSubstr("No such file"));
  EXPECT_THAT(trouble("file:" + folder_.path("")), HasSubstr("cannot be read"));
  EXPECT_THAT(trouble("file:/dev/zero"), HasSubstr("more than 256 bytes"));
}

TEST(ArrivalText, a_bad_text_gives_a_sentence) {
  const std::pair<std::string_view, std::string_view> bad[] = {
      {"", "must be constant or poisson"},
      {"constantly", "must be constant or poisson"},
      {"ramp", "must be constant or poisson"},
      {"wave:1", "must be constant or poisson"},
      {"constant", "needs a --rate"},
      {"poisson", "needs a --rate"},
      {"ramp:", "is not a ramp"},
      {"ramp:1000/s", "is not a ramp"},
      {"ramp:1000/s..", "has ''"},
      {"ramp:-1/s..5/s", "has '-1/s'"},
      {"ramp:5/s..x/s", "has 'x/s'"},
      {"ramp:1/s..2/s..3/s", "has '2/s..3/s'"},
      {"ramp:0..0", "never sends"},
      {"ramp:1/s..2/s over 0s", "lasts '0s'"},
      {"ramp:1/s..2/s over soon", "lasts 'soon'"},
      {"step:1000/s", "how long each step lasts"},
      {"step:1000/s every", "how long each step lasts"},
      {"step:1000/s,,5/s every 5s", "has ''"},
      {"step:0,0 every 5s", "never sends"},
      {"step:5/s every 0s", "steps of '0s'"},
      {"burst:100", "how often"},
      {"burst:0 every 5s", "bursts of '0'"},
      {"burst:-1 every 5s", "bursts of '-1'"},
      {"burst:10000001 every 5s", "bursts of '10000001'"},
      {"burst:5 every x", "every 'x'"},
      {"burst:100 every 50ns", "more than 1000000000 messages a second"},
      {"file:", "cannot be opened"},
  };
  for (const auto& [text, why] : bad) {
    EXPECT_THAT(trouble(text), AllOf(StartsWith("--arrivals: "), HasSubstr(why), Not(EndsWith(".")))) << text;
  }
  std::string many = "step:1";
  for (size_t i = 0; i < kMostSteps; ++i) many += ",1";
  EXPECT_THAT(trouble(many + " every 1s"), HasSubstr("more than 1000 steps"));
}

TEST(ArrivalText, two_rates_contradict_each_other) {
  for (const std::string_view text : {"ramp:1/s..2/s", "step:1/s every 1s", "burst:5 every 1s", "file:/nowhere"}) {
    EXPECT_THAT(trouble(text, 100), HasSubstr("leave one out")) << text;
  }
}

}  // namespace
}  // namespace peal::load
