// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_options.h>

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using testing::HasSubstr;

DuelContender started(const std::string& name) {
  return {.name = name, .command = {name, "{listen}"}, .target_text = {}, .target = {}, .pid = {}};
}

DuelContender running(const std::string& name, std::optional<int> pid = std::nullopt) {
  return {.name = name,
          .command = {},
          .target_text = "127.0.0.1:1",
          .target = SocketAddress::parse("127.0.0.1:1").value(),
          .pid = pid};
}

const std::vector<DuelContender> kThree{started("old"), started("new"), started("b-2.0+x_y")};

DuelClaim read_claim(std::string_view text) {
  const std::expected<DuelClaim, std::string> claim = parse_claim(text, kThree, DuelMetric::kServerCpu);
  EXPECT_TRUE(claim.has_value()) << claim.error();
  return claim.value_or(DuelClaim{});
}

DuelOptions sensible_duel() {
  DuelOptions options;
  options.contenders = with_twin({started("old"), started("new")});
  return options;
}

std::string trouble_of(void (*change)(DuelOptions&)) {
  DuelOptions options = sensible_duel();
  change(options);
  return duel_trouble(options);
}

TEST(DuelOptions, a_claim_without_a_metric_takes_the_usual_one) {
  const DuelClaim claim = read_claim("new/old <= 1.05");
  EXPECT_EQ(claim.text, "new/old <= 1.05");
  EXPECT_EQ(claim.metric, DuelMetric::kServerCpu);
  EXPECT_EQ(claim.subject, 1U);
  EXPECT_EQ(claim.rival, 0U);
  EXPECT_EQ(claim.bar.side, Bar::Side::kAtMost);
  EXPECT_EQ(claim.bar.ratio, 1.05);
}

TEST(DuelOptions, a_claim_by_each_metric_on_either_side) {
  for (const DuelMetric metric : kDuelMetrics) {
    const DuelClaim claim = read_claim(std::string(to_string(metric)) + ": old/b-2.0+x_y >= 0.97");
    EXPECT_EQ(claim.metric, metric);
    EXPECT_EQ(claim.subject, 0U);
    EXPECT_EQ(claim.rival, 2U);
    EXPECT_EQ(claim.bar.side, Bar::Side::kAtLeast);
    EXPECT_EQ(claim.bar.ratio, 0.97);
  }
}

TEST(DuelOptions, spaces_in_a_claim_do_not_matter) {
  for (const std::string_view text : {"rate:new/old>=2", "  rate : new / old >= 2  ", "rate:  new/old  >=2"}) {
    const DuelClaim claim = read_claim(text);
    EXPECT_EQ(claim.metric, DuelMetric::kRate);
    EXPECT_EQ(claim.subject, 1U);
    EXPECT_EQ(claim.bar.ratio, 2);
  }
  EXPECT_EQ(read_claim("  new/old <= 1 ").text, "new/old <= 1");
}

TEST(DuelOptions, the_least_and_the_highest_bar) {
  EXPECT_EQ(read_claim("new/old <= 0.001").bar.ratio, 0.001);
  EXPECT_EQ(read_claim("new/old <= 1000").bar.ratio, 1000);
}

TEST(DuelOptions, texts_that_are_no_claim) {
  const auto wrong = [](std::string_view text) {
    const std::expected<DuelClaim, std::string> claim = parse_claim(text, kThree, DuelMetric::kRate);
    EXPECT_FALSE(claim.has_value()) << text;
    return claim ? std::string() : claim.error();
  };
  EXPECT_EQ(wrong("new/old"),
            "--claim takes '[cpu:|rate:|p50:|p99:]A/B <= 1.05' or '>=', not 'new/old': it has neither '<=' nor '>='");
  for (const std::string_view text : {"", "=", "<=", "new/old < 1", "new/old == 1", "new/old < = 1", "new/old = 1"}) {
    EXPECT_THAT(wrong(text), testing::AnyOf(HasSubstr("neither '<=' nor '>='"), HasSubstr("the bar must be a number")));
  }
  for (const std::string_view bar : {"", "much", "1.05x", "0", "-1", "0.0009", "1000.1", "inf", "nan", "1 2"}) {
    EXPECT_THAT(wrong("new/old <= " + std::string(bar)), HasSubstr("the bar must be a number from 0.001 to 1000"))
        << bar;
  }
  for (const std::string_view metric : {"", "ram", "CPU", "p999"}) {
    EXPECT_THAT(wrong(std::string(metric) + ": new/old <= 1"),
                HasSubstr("the word before the colon must be cpu, rate, p50 or p99"));
  }
  EXPECT_THAT(wrong("new <= 1"), HasSubstr("it does not name a pair A/B"));
  for (const std::string_view pair : {"new/new", "new/other", "other/new", "new/", "/new", "new/old/b-2.0+x_y"}) {
    EXPECT_THAT(wrong(std::string(pair) + " <= 1"), HasSubstr("A and B must be two different contenders")) << pair;
  }
}

TEST(DuelOptions, the_twin_is_a_copy_of_the_first) {
  const std::vector<DuelContender> all = with_twin({running("a", 4711), started("b")});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all[0].twin_of);
  EXPECT_FALSE(all[1].twin_of);
  EXPECT_EQ(all[2].name, "a-twin");
  EXPECT_EQ(all[2].twin_of, 0U);
  EXPECT_EQ(all[2].pid, 4711);
  EXPECT_EQ(all[2].target, all[0].target);
  EXPECT_FALSE(all[2].restarts());
}

TEST(DuelOptions, the_headline_is_the_best_metric_that_is_known) {
  DuelOptions options = sensible_duel();
  EXPECT_TRUE(options.knows_cpu());
  EXPECT_TRUE(options.restart_all());
  EXPECT_EQ(options.headline(), DuelMetric::kServerCpu);
  options.contenders = with_twin({started("a"), running("b", 4711)});
  EXPECT_TRUE(options.knows_cpu());
  EXPECT_FALSE(options.restart_all());
  EXPECT_EQ(options.headline(), DuelMetric::kServerCpu);
  options.contenders = with_twin({started("a"), running("b")});
  EXPECT_FALSE(options.knows_cpu());
  EXPECT_EQ(options.headline(), DuelMetric::kRate);
  options.load.arrivals = ArrivalPlan::constant(1000);
  EXPECT_EQ(options.headline(), DuelMetric::kP50);
}

TEST(DuelOptions, latency_is_shown_from_half_a_second_on) {
  DuelOptions options = sensible_duel();
  options.slice = 499ms;
  EXPECT_FALSE(options.shows_latency());
  options.slice = 500ms;
  EXPECT_TRUE(options.shows_latency());
}

TEST(DuelOptions, options_that_make_sense) {
  EXPECT_EQ(duel_trouble(sensible_duel()), "");
  EXPECT_EQ(trouble_of([](DuelOptions& options) {
              options.slice = 5ms;
              options.rounds = kMostDuelRounds;
              options.restarts = kMostRestarts;
              options.server_threads = kMostThreads;
              options.contenders.resize(2);
            }),
            "");
  EXPECT_EQ(trouble_of([](DuelOptions& options) {
              options.load.arrivals = ArrivalPlan::constant(1000);
              options.slice = 500ms;
            }),
            "");
}

TEST(DuelOptions, too_few_or_too_many_contenders_or_two_with_one_name) {
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.contenders.resize(1); }),
            "a duel takes 2 to 128 contenders, its twin among them, not 1");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.contenders.resize(129); }),
            "a duel takes 2 to 128 contenders, its twin among them, not 129");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.contenders[1].name = "old-twin"; }),
            "there are two contenders named 'old-twin'");
}

TEST(DuelOptions, slices_rounds_and_restarts_outside_their_limits) {
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.slice = 4ms; }),
            "a slice is at least 5ms: a shorter one is mostly start and end");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.load.arrivals = ArrivalPlan::constant(1000); }),
            "at a fixed rate a slice is at least 500ms: shorter slices hide queueing");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.budget = options.slice * 20; }),
            "a restart of 27 slices takes longer than --budget: raise it, or lower --rounds");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.rounds = 0; }), "a restart has 1 to 1000 rounds");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.rounds = 1001; }), "a restart has 1 to 1000 rounds");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.restarts = 1001; }), "a duel has 1 to 1000 restarts");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.server_threads = 0; }), "a server has 1 to 256 threads");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.server_threads = 257; }), "a server has 1 to 256 threads");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.load.pipeline = 0; }), "--pipeline is 1 to 10000, not 0");
}

TEST(DuelOptions, a_server_that_queues_connections_needs_in_turn_and_a_closed_loop) {
  DuelOptions options = sensible_duel();
  options.contenders[1].expect_queueing = true;
  EXPECT_EQ(duel_trouble(options), "connections that wait for new would be served while others play: give --in-turn");
  options.in_turn = true;
  EXPECT_EQ(duel_trouble(options), "");
  options.load.arrivals = ArrivalPlan::constant(1000);
  options.slice = 500ms;
  EXPECT_EQ(duel_trouble(options), "new serves only some connections at a time, so it cannot hold a --rate");
}

TEST(DuelOptions, source_addresses_must_reach_the_started_servers) {
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.load.sources = {*SocketAddress::parse("127.0.0.2:0")}; }),
            "");
  EXPECT_EQ(trouble_of([](DuelOptions& options) { options.load.sources = {*SocketAddress::parse("[::1]:0")}; }),
            "--source-addresses: [::1]:0 cannot reach old, which is of another family");
}

TEST(DuelOptions, a_precision_outside_its_limits) {
  for (const double precision : {0.0, -0.1, 1.0, 20.0, std::nan("")}) {
    DuelOptions options = sensible_duel();
    options.precision = precision;
    EXPECT_EQ(duel_trouble(options), "--precision must be more than 0 % and less than 100 %") << precision;
  }
}

TEST(DuelOptions, a_claim_about_a_metric_that_is_not_measured) {
  const auto trouble = [](DuelOptions options, const std::string& text) {
    options.claims.push_back(parse_claim(text, options.contenders, DuelMetric::kServerCpu).value());
    return duel_trouble(options);
  };
  DuelOptions options = sensible_duel();
  EXPECT_EQ(trouble(options, "new/old <= 1"), "");
  EXPECT_EQ(trouble(options, "p50: new/old <= 1"),
            "the claim 'p50: new/old <= 1' is about latency: that takes slices of at least 500ms");
  EXPECT_EQ(trouble(options, "p99: new/old <= 1"),
            "the claim 'p99: new/old <= 1' is about latency: that takes slices of at least 500ms");
  options.slice = 500ms;
  EXPECT_EQ(trouble(options, "p99: new/old <= 1"), "");
  options.load.arrivals = ArrivalPlan::constant(1000);
  EXPECT_EQ(trouble(options, "rate: new/old <= 1"),
            "the claim 'rate: new/old <= 1' is about the rate, which --rate fixes");
  options = sensible_duel();
  options.contenders = with_twin({running("old", 4711), running("new")});
  EXPECT_EQ(trouble(options, "new/old <= 1"),
            "the claim 'new/old <= 1' is about CPU time: name the process of new with --pid");
  EXPECT_EQ(trouble(options, "old-twin/old <= 1"), "");
}

}  // namespace
}  // namespace peal::load
