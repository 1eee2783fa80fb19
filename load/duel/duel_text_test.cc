// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_text.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/duel/made_up_duel.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const DuelRecord& record) { return duel_text(record, judge_duel(record)); }

TEST(DuelText, a_page) {
  MadeUpDuel duel(3);
  duel.options().load.connections = 1000;
  duel.claim("b/a <= 1.1");
  duel.claim("rate: c/a >= 1");
  duel.record().elapsed = 12345ms;
  duel.record().server_cpus = {0};
  duel.record().client_cpus = {1};
  const DuelRecord& record = duel.play({1, 1.2, 0.9});
  EXPECT_EQ(text_of(record), R"(duel pingpong: 64 bytes, 1,000 connections, 1 thread, closed loop
slices of 20.0 ms, 2 rounds a restart; 8 restarts in 12.3 s
servers on CPU 0, generator on CPU 1; engine epoll; seed 1

           server CPU  generator CPU     messages/s
a             10.0 us        8.00 us         50,000
b             12.0 us        8.00 us         41,667
c             9.00 us        8.00 us         55,556
a-twin        10.0 us        8.00 us         50,000
CPU per message; medians over the restarts

server CPU per message, against a
  b       1.200 (1.199 to 1.201)    more CPU
  c       0.900 (0.899 to 0.901)    less CPU
  a-twin  1.000 (0.999 to 1.001)    the same again (A/A): level

messages/s, against a
  b       0.833 (0.833 to 0.834)    slower
  c       1.111 (1.110 to 1.112)    faster
  a-twin  1.000 (0.999 to 1.001)    the same again (A/A): level

claims
  not met      b/a <= 1.1: 1.200 (1.199 to 1.201)
  met          rate: c/a >= 1: 1.111 (1.110 to 1.112)

ratios with their 95 % interval over 8 restarts
)");
}

TEST(DuelText, the_heading_names_in_turn_and_idle_connections) {
  MadeUpDuel duel(1);
  duel.options().in_turn = true;
  duel.options().load.idle_connections = 990;
  const std::string text = text_of(duel.play({}));
  EXPECT_THAT(text,
              HasSubstr("1 thread, 990 idle ones beside, closed loop\none contender at a time; slices of 20.0 ms"));
}

TEST(DuelText, long_slices_show_latency_in_words_of_its_own) {
  MadeUpDuel duel(3);
  duel.options().slice = 500ms;
  duel.options().load.arrivals = ArrivalPlan::constant(1000);
  duel.record().schedule = "constant 1000/s";
  for (int i = 0; i < 1000; ++i) duel.record().sides[0].latency.record(100'000 + 1000 * i);
  const std::string text = text_of(duel.play({1, 1.2, 0.9}));
  EXPECT_THAT(text, Not(HasSubstr("closed loop")));
  EXPECT_THAT(text, HasSubstr(", constant 1000/s\n"));
  EXPECT_THAT(text, HasSubstr("messages/s        p50        p99      p99.9\n"));
  EXPECT_THAT(text, HasSubstr("599 us    1.09 ms  (1.10 ms)\n")) << "too few messages lie above p99.9";
  EXPECT_THAT(text, HasSubstr("          -          -          -\n")) << "no message came back from b";
  for (const char* heading : {"\nlatency, p50, against a\n", "\nlatency, p99, against a\n"}) {
    EXPECT_THAT(text, HasSubstr(heading));
  }
  EXPECT_THAT(text, HasSubstr("1.200 (1.199 to 1.201)    later\n"));
  EXPECT_THAT(text, HasSubstr("0.900 (0.899 to 0.901)    sooner\n"));
  EXPECT_THAT(text, Not(HasSubstr("messages/s, against"))) << "the rate is fixed";
}

TEST(DuelText, an_undecided_verdict_says_why) {
  MadeUpDuel few(2, 3);
  few.claim("b/a <= 1.1");
  const std::string text = text_of(few.play({1, 1.2}));
  EXPECT_THAT(text, HasSubstr("  b       1.200                     cannot tell: too few restarts\n"));
  EXPECT_THAT(text,
              HasSubstr("  a-twin  1.000                     the same again (A/A): cannot tell: too few restarts\n"));
  EXPECT_THAT(text, HasSubstr("  cannot tell  b/a <= 1.1: 1.200; too few restarts\n"));
  MadeUpDuel nothing(2, 1);
  const MadeUpDuel::Change without_cpu = [](SliceRecord& slice) {
    slice.server_cpu.reset();
    return true;
  };
  EXPECT_THAT(text_of(nothing.play({}, without_cpu)),
              HasSubstr("  b       -                         cannot tell: too few restarts\n"));
}

TEST(DuelText, a_rate_the_generator_limited_is_shown_as_a_lower_bound) {
  MadeUpDuel duel(2);
  const std::string text = text_of(duel.play({1, 1.2}, [](SliceRecord& slice) {
    if (slice.contender == 1) slice.client_cpu = slice.span * 9 / 10;
    return true;
  }));
  EXPECT_THAT(text, HasSubstr("      >= 41,667\n"));
  EXPECT_THAT(text, HasSubstr("\n>= : the generator was full before the server was\n"));
  EXPECT_THAT(text, HasSubstr("cannot tell: the generator was full before b was\n"));
}

TEST(DuelText, servers_that_already_ran_are_called_processes) {
  MadeUpDuel duel(2);
  for (DuelContender& contender : duel.options().contenders) contender.command.clear();
  const std::string text = text_of(duel.play({1, 1.2}, [](SliceRecord& slice) {
    slice.server_cpu.reset();
    return true;
  }));
  EXPECT_THAT(text, HasSubstr("\nthe servers run where they were started; "));
  EXPECT_THAT(text, HasSubstr("servers that were already running were not restarted: their verdicts are about these "
                              "processes, not about their programs\n"));
  EXPECT_THAT(text, HasSubstr("              -        8.00 us")) << "no CPU time is known";
  EXPECT_THAT(text, Not(HasSubstr("server CPU per message, against")));
}

TEST(DuelText, the_heading_describes_the_load) {
  MadeUpDuel duel(2, 1);
  const auto heading = [&duel] {
    const std::string text = text_of(duel.play({}));
    return text.substr(0, text.find("\n\n"));
  };
  EXPECT_THAT(heading(), HasSubstr("1 restart in 0.0 s\nservers and generator share the CPUs; engine epoll"));
  EXPECT_THAT(heading(), HasSubstr("64 bytes, 1 connection, 1 thread, closed loop\n"));
  duel.options().load.threads = 2;
  duel.options().load.pipeline = 16;
  duel.options().load.requests_per_connection = {1, 1};
  EXPECT_THAT(heading(), HasSubstr("2 threads, 16 in flight a connection, 1 request a connection, closed loop\n"));
  duel.options().load.requests_per_connection = {5, 10};
  EXPECT_THAT(heading(), HasSubstr(", 5 to 10 requests a connection, "));
}

TEST(DuelText, gates_stand_at_the_end) {
  MadeUpDuel duel(2);
  duel.record().sides[1].failures.add("reset", "a connection broke");
  duel.record().interrupted = true;
  EXPECT_THAT(text_of(duel.play({})),
              testing::EndsWith("\nINVALID b: 1 unexpected failures (reset): a connection broke\n"
                                "NOISY the duel was interrupted\n"));
}

TEST(DuelText, output_of_a_server_cannot_control_the_terminal) {
  MadeUpDuel duel(2);
  duel.claim("b/a <= 1.3");
  duel.record().sides[1].fault = "b: the server ended by itself: exit code 3 (\033[31m\007)";
  const std::string text = text_of(duel.play({1, 1.2}));
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("; b: it was left out; b: the server ended by itself: exit code 3 (\\x1B[31m\\x07)\n"));
  EXPECT_THAT(text, testing::EndsWith("exit code 3 (\\x1B[31m\\x07)\n"));
}

TEST(DuelText, a_status_line_while_the_duel_runs) {
  MadeUpDuel duel(3, 4);
  const auto line = [&duel](size_t columns) {
    return duel_line({.record = duel.record(), .rounds = 2, .restarts_wanted = 8, .elapsed = 3s}, columns);
  };
  duel.play({1, 1.2, 0.9});
  EXPECT_EQ(line(200), "restart 5 of 8, round 2 of 2, 3.0 s of 60.0 s | b/a 1.200 +-0.2 % | c/a 0.900 +-0.2 %");
  EXPECT_EQ(line(20), "restart 5 of 8, roun");
  duel.record().restarts = 1;
  duel.play({1, 1.2, 0.9});
  EXPECT_THAT(line(200), testing::EndsWith(" | b/a 1.201 | c/a 0.901")) << "one restart has no interval";
  duel.play({}, [](SliceRecord& slice) {
    slice.server_cpu.reset();
    return true;
  });
  EXPECT_THAT(line(200), testing::EndsWith(" | b/a - | c/a -"));
  duel.record().restarts = 0;
  EXPECT_EQ(line(200), "restart 1 of 8, round 2 of 2, 3.0 s of 60.0 s");
}

}  // namespace
}  // namespace peal::load
