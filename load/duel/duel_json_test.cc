// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_json.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <load/duel/made_up_duel.h>
#include <load/record/histogram_codec.h>

namespace peal::load {
namespace {

using nlohmann::json;
using std::chrono_literals::operator""ms;

json json_of(const DuelRecord& record) { return json::parse(duel_json(record, judge_duel(record))); }

TEST(DuelJson, the_options_of_the_duel) {
  MadeUpDuel duel(2);
  duel.options().load.seed = 7;
  duel.options().load.pipeline = 3;
  duel.record().server_cpus = {0, 1};
  duel.record().client_cpus = {2};
  duel.record().elapsed = 1500ms;
  duel.options().load.idle_connections = 990;
  duel.options().in_turn = true;
  const json report = json_of(duel.play({1, 1.2}));
  EXPECT_EQ(report["idle_connections"], 990);
  EXPECT_EQ(report["in_turn"], true);
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["tool"], "peal load duel");
  EXPECT_EQ(report["experiment"], "pingpong");
  EXPECT_EQ(report["request"], "64 bytes");
  EXPECT_EQ(report["schedule"], "closed loop");
  EXPECT_EQ(report["connections"], 1);
  EXPECT_EQ(report["threads"], 1);
  EXPECT_EQ(report["server_threads"], 1);
  EXPECT_EQ(report["pipeline"], 3);
  EXPECT_EQ(report["engine"], "epoll");
  EXPECT_EQ(report["slice_s"], 0.02);
  EXPECT_EQ(report["rounds"], 2);
  EXPECT_EQ(report["precision"], 0.02);
  EXPECT_EQ(report["budget_s"], 60);
  EXPECT_EQ(report["seed"], 7);
  EXPECT_EQ(report["server_cpus"], (json{0, 1}));
  EXPECT_EQ(report["client_cpus"], json::array({2}));
  EXPECT_EQ(report["restarts"], 8);
  EXPECT_EQ(report["elapsed_s"], 1.5);
  EXPECT_EQ(report["interrupted"], false);
}

TEST(DuelJson, every_contender) {
  MadeUpDuel duel(2);
  duel.options().contenders[1].command.clear();
  duel.options().contenders[1].target_text = "127.0.0.1:80";
  duel.options().contenders[1].pid = 4711;
  DuelSideRecord& side = duel.record().sides[1];
  side.latency.record(1000);
  side.connect.record(70'000);
  side.counts = {.messages = 5, .reads = 2, .bytes_received = 129};
  side.rss_bytes = 1 << 20;
  side.rss_by_restart = {1000, 1 << 20};
  side.rss_start_by_restart = {500, 600};
  side.served_by_restart = {3, 4};
  side.fault = "it ended";
  side.processes = 3;
  side.failures.add("reset", "a connection broke \xff", 2);
  const json report = json_of(duel.play({1, 1.2}));
  ASSERT_EQ(report["contenders"].size(), 3U);
  const json& program = report["contenders"][0];
  EXPECT_EQ(program["name"], "a");
  EXPECT_EQ(program["command"], (json{"a", "{listen}"}));
  EXPECT_FALSE(program.contains("target"));
  EXPECT_TRUE(program["twin_of"].is_null());
  EXPECT_EQ(program["server_cpu_ns"], 10'000);
  EXPECT_EQ(program["client_cpu_ns"], 8'000);
  EXPECT_EQ(program["messages_per_s"], 50'000);
  EXPECT_EQ(program["server_share"], 0.5);
  EXPECT_EQ(program["client_share"], 0.4);
  EXPECT_EQ(program["bounded"], false);
  EXPECT_FALSE(program.contains("failures"));
  const json& process = report["contenders"][1];
  EXPECT_EQ(process["target"], "127.0.0.1:80");
  EXPECT_EQ(process["pid"], 4711);
  EXPECT_EQ(process["messages"], 5);
  EXPECT_EQ(process["mean_read_bytes"], 64);
  EXPECT_TRUE(program["mean_read_bytes"].is_null());
  EXPECT_EQ(process["rss_bytes"], 1 << 20);
  EXPECT_EQ(process["rss_by_restart"], json({1000, 1 << 20}));
  EXPECT_EQ(process["rss_start_by_restart"], json({500, 600}));
  EXPECT_EQ(process["served_by_restart"], json({3, 4}));
  EXPECT_EQ(process["fault"], "it ended");
  EXPECT_EQ(program["fault"], "");
  EXPECT_EQ(process["processes"], 3);
  EXPECT_EQ(process["latency"]["count"], 1);
  EXPECT_EQ(process["latency"]["max"], side.latency.max());
  EXPECT_EQ(process["latency"]["hdr"], encode_histogram(side.latency));
  EXPECT_EQ(process["connect"]["count"], 1);
  EXPECT_EQ(process["connect"]["hdr"], encode_histogram(side.connect));
  EXPECT_EQ(process["failures"]["reset"]["count"], 2);
  EXPECT_EQ(process["failures"]["reset"]["first"], "a connection broke \xef\xbf\xbd");
  EXPECT_EQ(report["contenders"][2]["twin_of"], "a");
}

TEST(DuelJson, in_turn_each_restart_has_its_whole_histogram) {
  MadeUpDuel duel(1, 2);
  duel.play({});
  EXPECT_FALSE(json_of(duel.record())["contenders"][0].contains("hdr_by_restart"));
  duel.options().in_turn = true;
  duel.record().sides[0].latency_by_restart[1].hdr = "HISTF";
  EXPECT_EQ(json_of(duel.record())["contenders"][0]["hdr_by_restart"], json({"", "HISTF"}));
}

TEST(DuelJson, every_pair_and_its_restarts) {
  MadeUpDuel duel(2);
  const DuelRecord& record = duel.play({1, 1.2});
  const DuelJudgement judgement = judge_duel(record);
  const json report = json_of(record);
  ASSERT_EQ(report["pairs"].size(), 2U);
  const json& cpu = report["pairs"][0];
  EXPECT_EQ(cpu["metric"], "cpu");
  EXPECT_EQ(cpu["subject"], "b");
  EXPECT_EQ(cpu["rival"], "a");
  EXPECT_EQ(cpu["ratio"], judgement.pairs[0].estimate.ratio());
  EXPECT_EQ(cpu["low"], judgement.pairs[0].estimate.low());
  EXPECT_EQ(cpu["high"], judgement.pairs[0].estimate.high());
  EXPECT_EQ(cpu["restarts"], 8);
  EXPECT_EQ(cpu["p"], judgement.pairs[0].estimate.p(1));
  EXPECT_EQ(cpu["p_adjusted"], judgement.pairs[0].adjusted_p);
  EXPECT_EQ(cpu["verdict"], "more");
  EXPECT_EQ(cpu["why"], "");
  EXPECT_EQ(cpu["about"], "programs");
  EXPECT_EQ(cpu["logs"], json(judgement.pairs[0].logs));
  EXPECT_EQ(report["pairs"][1]["metric"], "rate");
  ASSERT_EQ(report["twins"].size(), 2U);
  EXPECT_EQ(report["twins"][0]["subject"], "a-twin");
  EXPECT_EQ(report["twins"][0]["verdict"], "level");
  EXPECT_EQ(report["claims"], json::array());
  EXPECT_EQ(report["gates"], json::array());
}

TEST(DuelJson, every_claim_and_every_gate) {
  MadeUpDuel duel(2);
  duel.claim("b/a <= 1.1");
  duel.claim("rate: a/b >= 1.05");
  duel.options().contenders[1].command.clear();
  duel.options().contenders[1].pid = 4711;
  duel.record().sides[2].failures.add("reset", "a connection broke");
  duel.record().interrupted = true;
  const json report = json_of(duel.play({1, 1.2}));
  ASSERT_EQ(report["claims"].size(), 2U);
  const json& claim = report["claims"][0];
  EXPECT_EQ(claim["text"], "b/a <= 1.1");
  EXPECT_EQ(claim["metric"], "cpu");
  EXPECT_EQ(claim["subject"], "b");
  EXPECT_EQ(claim["rival"], "a");
  EXPECT_EQ(claim["side"], "<=");
  EXPECT_EQ(claim["bar"], 1.1);
  EXPECT_EQ(claim["restarts"], 8);
  EXPECT_EQ(claim["verdict"], "not met");
  EXPECT_EQ(claim["about"], "processes");
  EXPECT_LT(claim["p"], 0.001);
  EXPECT_LE(claim["p"], claim["p_adjusted"]);
  EXPECT_EQ(report["claims"][1]["side"], ">=");
  EXPECT_EQ(report["claims"][1]["verdict"], "met");
  EXPECT_EQ(report["gates"],
            (json{{{"verdict", "INVALID"}, {"sentence", "a-twin: 1 unexpected failures (reset): a connection broke"}},
                  {{"verdict", "NOISY"}, {"sentence", "the duel was interrupted"}}}));
}

TEST(DuelJson, every_slice_in_the_order_played) {
  MadeUpDuel duel(2, 3);
  const DuelRecord& record = duel.play({1, 1.2}, [](SliceRecord& slice) {
    if (slice.contender == 1) slice.server_cpu.reset();
    slice.spin = 1ms;
    slice.server_switches = 12;
    return true;
  });
  const json report = json_of(record);
  const std::vector<std::string> columns = report["slice_columns"];
  EXPECT_EQ(columns,
            (std::vector<std::string>{"restart", "round", "place", "contender", "messages", "seconds", "server_cpu_ns",
                                      "client_cpu_ns", "p50_ns", "p99_ns", "server_switches"}));
  ASSERT_EQ(report["slices"].size(), record.slices.size());
  for (size_t i = 0; i < record.slices.size(); ++i) {
    const SliceRecord& slice = record.slices[i];
    const json& row = report["slices"][i];
    ASSERT_EQ(row.size(), columns.size());
    EXPECT_EQ(row[0], slice.restart);
    EXPECT_EQ(row[1], slice.round);
    EXPECT_EQ(row[2], slice.place);
    EXPECT_EQ(row[3], slice.contender);
    EXPECT_EQ(row[4], slice.messages);
    EXPECT_EQ(row[5], slice.seconds());
    EXPECT_EQ(row[6], slice.server_cpu ? json(slice.server_cpu->count()) : json(nullptr));
    EXPECT_EQ(row[7], 7'000'000) << "CPU time without spinning";
    EXPECT_EQ(row[8], slice.p50_ns);
    EXPECT_EQ(row[9], slice.p99_ns);
    EXPECT_EQ(row[10], slice.server_cpu ? json(12) : json(nullptr));
  }
}

TEST(DuelJson, slices_leave_out_a_cpu_time_that_is_incomplete) {
  MadeUpDuel duel(2, 2);
  duel.record().sides[1].forgets_children = true;
  duel.options().load.requests_per_connection = {1, 1};
  for (const json& slice : json_of(duel.play({}))["slices"]) {
    EXPECT_EQ(slice[6].is_null(), slice[3] == 1) << slice;
  }
}

TEST(DuelJson, a_value_that_is_no_number_is_null) {
  MadeUpDuel duel(2, 2);
  duel.claim("b/a <= 1.1");
  const json report = json_of(duel.play({}, [](SliceRecord& slice) {
    slice.server_cpu.reset();
    return true;
  }));
  EXPECT_TRUE(report["contenders"][0]["server_cpu_ns"].is_null());
  EXPECT_TRUE(report["contenders"][0]["server_share"].is_null());
  const json& pair = report["pairs"][0];
  EXPECT_TRUE(pair["ratio"].is_null());
  EXPECT_TRUE(pair["high"].is_null());
  EXPECT_EQ(pair["p"], 1);
  EXPECT_EQ(pair["logs"], (json{nullptr, nullptr}));
  EXPECT_EQ(pair["why"], "too few restarts");
  EXPECT_TRUE(report["claims"][0]["ratio"].is_null());
}

TEST(DuelJson, a_duel_without_slices) {
  MadeUpDuel duel(2, 0);
  const json report = json_of(duel.play({}));
  EXPECT_EQ(report["slices"], json::array());
  EXPECT_EQ(report["pairs"][0]["logs"], json::array());
  EXPECT_EQ(report["contenders"][0]["messages_per_s"], 0);
}

}  // namespace
}  // namespace peal::load
