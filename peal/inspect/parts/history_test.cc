// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/history.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace peal::detail {
namespace {

using nlohmann::ordered_json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Makes the snapshots of a process with one loop and one server, whose counters the test advances.
class HistoryTest : public testing::Test {
 protected:
  HistoryTest() {
    next.loops.push_back({.number = 3, .answered = true, .thread = "worker"});
    next.servers.push_back({.number = 5, .name = "api"});
  }
  // Adds a snapshot that is taken `later` than the one before.
  void add(Duration later = seconds(1)) {
    next.now += later;
    next.taken += std::chrono::duration_cast<std::chrono::system_clock::duration>(later);
    history.add(next);
  }
  ordered_json loop(std::string_view figure) const { return history.since(0).at("loops").at(0).at(figure); }
  ordered_json server(std::string_view figure) const { return history.since(0).at("servers").at(0).at(figure); }

  Snapshot next;
  History history;
};

TEST_F(HistoryTest, the_first_snapshot_gives_no_sample) {
  EXPECT_EQ(history.since(0)["newest"], 0);
  add();
  EXPECT_EQ(history.since(0)["newest"], 0);
  EXPECT_TRUE(history.since(0)["taken_unix_seconds"].empty());
}

TEST_F(HistoryTest, a_snapshot_that_comes_twice_is_one_sample) {
  add();
  add();
  history.add(next);
  EXPECT_EQ(history.since(0)["newest"], 1);
}

TEST_F(HistoryTest, counters_become_rates) {
  add();
  next.loops[0].engine_stats.events += 30;
  next.loops[0].engine_stats.received_bytes += 1000;
  next.loops[0].cpu += milliseconds(500);
  next.process_cpu += milliseconds(250);
  next.servers[0].stats.opened += 4;
  next.servers[0].stats.refused += 1;
  next.servers[0].stats.evicted += 1;
  next.servers[0].connections = 7;
  add(seconds(2));
  EXPECT_EQ(loop("events_per_second"), ordered_json::array({15}));
  EXPECT_EQ(loop("received_bytes_per_second"), ordered_json::array({500}));
  EXPECT_EQ(loop("cpu_share"), ordered_json::array({0.25}));
  EXPECT_EQ(history.since(0)["process"]["cpu_share"], ordered_json::array({0.125}));
  EXPECT_EQ(server("connections"), ordered_json::array({7}));
  EXPECT_EQ(server("opened_per_second"), ordered_json::array({2}));
  EXPECT_EQ(server("refused_per_second"), ordered_json::array({1}));
  EXPECT_EQ(history.since(0)["loops"][0]["thread"], "worker");
  EXPECT_EQ(history.since(0)["loops"][0]["loop"], 3);
  EXPECT_EQ(history.since(0)["servers"][0]["server"], 5);
  EXPECT_FALSE(history.since(0)["servers"][0].contains("requests_per_second")) << "it is no HTTP server";
}

TEST_F(HistoryTest, turns_are_those_of_the_last_second) {
  next.loops[0].times.emplace();
  TimePoint now{seconds(100)};
  next.loops[0].times->begin_turn(now);
  const auto turn = [&](Duration busy) {
    next.loops[0].times->woke_at() = now;
    now += busy;
    next.loops[0].times->begin_turn(now);
  };
  turn(milliseconds(100));
  add();
  turn(milliseconds(2));
  turn(milliseconds(2));
  add();
  EXPECT_NEAR(loop("turn_p50_seconds")[0].get<double>(), 0.002, 0.00003);
  EXPECT_NEAR(loop("turn_max_seconds")[0].get<double>(), 0.002, 0.00003) << "the turn of 100 ms was before";
}

TEST_F(HistoryTest, requests_and_calls_have_the_same_names) {
  next.servers[0].http.emplace();
  next.servers.push_back({.number = 6, .name = "rpc", .methods = {{.name = "Get"}, {.name = "Put"}}});
  add();
  next.servers[0].http->requests += 10;
  next.servers[0].http->answers[4] += 2;
  next.servers[0].http->answers[5] += 1;
  next.servers[1].methods[0].calls += 5;
  next.servers[1].methods[1].calls += 1;
  next.servers[1].methods[1].failed += 1;
  for (int i = 0; i < 6; ++i) next.servers[1].methods[0].latency.record(4'000'000);
  add();
  EXPECT_EQ(server("requests_per_second"), ordered_json::array({10}));
  EXPECT_EQ(server("client_errors_per_second"), ordered_json::array({2}));
  EXPECT_EQ(server("server_errors_per_second"), ordered_json::array({1}));
  const ordered_json calls = history.since(0)["servers"][1];
  EXPECT_EQ(calls["requests_per_second"], ordered_json::array({6}));
  EXPECT_EQ(calls["server_errors_per_second"], ordered_json::array({1}));
  EXPECT_NEAR(calls["latency_p99_seconds"][0].get<double>(), 0.004, 0.00005);
}

TEST_F(HistoryTest, one_method_or_route_is_told_to_who_names_it) {
  next.servers[0].http.emplace();
  next.servers.push_back({.number = 6, .name = "rpc", .methods = {{.name = "Get"}, {.name = "Put"}}});
  add();
  next.servers[1].methods[1].calls += 8;
  next.servers[1].methods[1].failed += 2;
  next.servers[1].methods[1].latency.record(4'000'000);
  add(seconds(2));
  EXPECT_FALSE(history.since(0).contains("calls")) << "nobody asked";
  const auto calls = [&](size_t number, std::string name) {
    return history.since(0, CallsName{.server = number, .name = std::move(name)}).at("calls");
  };
  const ordered_json put = calls(6, "Put").at(0);
  EXPECT_EQ(put["server"], 6);
  EXPECT_EQ(put["name"], "Put");
  EXPECT_EQ(put["requests_per_second"], ordered_json::array({4}));
  EXPECT_EQ(put["server_errors_per_second"], ordered_json::array({1}));
  EXPECT_NEAR(put["latency_p99_seconds"][0].get<double>(), 0.004, 0.00005);
  EXPECT_FALSE(put.contains("client_errors_per_second")) << "a method has none";
  EXPECT_EQ(calls(6, "Get")[0]["requests_per_second"], ordered_json::array({0}));
  EXPECT_TRUE(calls(5, "Get").empty()) << "another server";
  EXPECT_TRUE(calls(6, "get").empty());
}

TEST_F(HistoryTest, a_route_counts_from_its_first_request) {
  next.servers[0].http.emplace();
  add();
  add();
  RouteStats route{.method = "GET", .pattern = "/a/{id}", .requests = 6};
  route.answers[4] = 3;
  route.latency.record(2'000'000);
  next.servers[0].routes.push_back(route);
  next.servers[0].http->requests += 6;
  add(seconds(3));
  const ordered_json row = history.since(0, CallsName{.server = 5, .name = "GET /a/{id}"})["calls"][0];
  EXPECT_EQ(row["requests_per_second"], ordered_json::array({nullptr, 2}));
  EXPECT_EQ(row["client_errors_per_second"], ordered_json::array({nullptr, 1}));
  EXPECT_NEAR(row["latency_p50_seconds"][1].get<double>(), 0.002, 0.00003);
  EXPECT_EQ(server("requests_per_second"), ordered_json::array({0, 2}));
  EXPECT_NEAR(server("latency_p99_seconds")[1].get<double>(), 0.002, 0.00003) << "that of all routes";
}

TEST_F(HistoryTest, the_first_of_too_many_routes_are_kept) {
  next.servers[0].http.emplace();
  add();
  for (size_t i = 0; i < History::kMostCalls + 1; ++i) {
    next.servers[0].routes.push_back({.method = "GET", .pattern = fmt::format("/{}", i), .requests = 1});
  }
  add();
  add();
  const auto has = [&](size_t i) {
    return !history.since(0, CallsName{.server = 5, .name = fmt::format("GET /{}", i)})["calls"].empty();
  };
  EXPECT_TRUE(has(History::kMostCalls - 1));
  EXPECT_FALSE(has(History::kMostCalls));
}

TEST_F(HistoryTest, a_loop_that_does_not_answer_leaves_a_gap_and_its_rate_spans_the_gap) {
  add();
  add();
  next.loops[0].answered = false;
  add();
  add();
  next.loops[0].answered = true;
  next.loops[0].engine_stats.events += 90;
  add();
  EXPECT_EQ(loop("events_per_second"), ordered_json::array({0, nullptr, nullptr, 30}));
}

TEST_F(HistoryTest, what_is_added_later_has_no_earlier_values) {
  add();
  add();
  next.loops.push_back({.number = 4, .answered = true});
  add();
  add();
  EXPECT_EQ(history.since(0)["loops"][1]["events_per_second"], ordered_json::array({nullptr, nullptr, 0}));
}

TEST_F(HistoryTest, what_is_shown_no_more_is_forgotten) {
  add();
  add();
  next.servers.clear();
  next.loops.clear();
  add();
  EXPECT_TRUE(history.since(0)["servers"].empty());
  EXPECT_TRUE(history.since(0)["loops"].empty());
  next.servers.push_back({.number = 7, .name = "later"});
  add();
  add();
  EXPECT_EQ(server("connections"), ordered_json::array({nullptr, nullptr, nullptr, 0}));
}

TEST_F(HistoryTest, a_counter_that_falls_gives_no_rate) {
  next.servers[0].stats.opened = 100;
  add();
  next.servers[0].stats.opened = 1;
  add();
  EXPECT_EQ(server("opened_per_second"), ordered_json::array({0}));
}

TEST_F(HistoryTest, only_what_is_new_is_sent_again) {
  add();
  for (int i = 0; i < 5; ++i) add();
  EXPECT_EQ(history.since(0)["taken_unix_seconds"].size(), 5U);
  EXPECT_EQ(history.since(3)["taken_unix_seconds"].size(), 2U);
  EXPECT_EQ(history.since(3)["loops"][0]["events_per_second"].size(), 2U);
  EXPECT_EQ(history.since(5)["taken_unix_seconds"].size(), 0U);
  EXPECT_EQ(history.since(6)["taken_unix_seconds"].size(), 5U) << "the client saw another process";
}

TEST_F(HistoryTest, the_oldest_samples_make_room) {
  add();
  for (size_t i = 1; i <= History::kSamples + 3; ++i) {
    next.servers[0].connections = i;
    add();
  }
  const ordered_json all = history.since(0);
  EXPECT_EQ(all["newest"], History::kSamples + 3);
  const ordered_json& connections = all["servers"][0]["connections"];
  EXPECT_EQ(connections.size(), History::kSamples);
  EXPECT_EQ(connections.front(), 4);
  EXPECT_EQ(connections.back(), History::kSamples + 3);
  EXPECT_EQ(history.since(1)["servers"][0]["connections"].size(), History::kSamples) << "sample 2 is gone";
  EXPECT_EQ(all["taken_unix_seconds"].back().get<double>() - all["taken_unix_seconds"].front().get<double>(),
            static_cast<double>(History::kSamples - 1));
}

TEST_F(HistoryTest, values_have_no_needless_digits) {
  add();
  next.process_cpu += milliseconds(100);
  add();
  EXPECT_EQ(history.since(0)["process"]["cpu_share"].dump(), "[0.1]");
}

TEST_F(HistoryTest, metrics_of_the_program_have_figures_of_their_kind) {
  MetricReading times{.name = "order_seconds", .unit = "seconds", .kind = MetricKind::kHistogram};
  times.histogram.emplace(HistogramOptions{.lowest = 1'000, .significant_digits = 2});
  times.histogram->record(900'000'000);
  next.metrics.metrics = {{.name = "orders_total", .labels = {{"kind", "new"}}, .count = 10},
                          {.name = "waiting", .kind = MetricKind::kGauge, .value = 1},
                          times};
  add();
  next.metrics.metrics[0].count = 16;
  next.metrics.metrics[1].value = 2.5;
  for (int i = 0; i < 4; ++i) next.metrics.metrics[2].histogram->record(2'000'000);
  add(seconds(2));
  add(seconds(2));
  const ordered_json metrics = history.since(0)["metrics"];
  ASSERT_EQ(metrics.size(), 3U);
  const ordered_json& latency = metrics[0];
  EXPECT_EQ(latency["name"], "order_seconds");
  EXPECT_EQ(latency["kind"], "histogram");
  EXPECT_EQ(latency["unit"], "seconds");
  EXPECT_EQ(latency["per_second"], ordered_json::array({2, 0}));
  EXPECT_NEAR(latency["p99"][0].get<double>(), 0.002, 0.0001);
  EXPECT_TRUE(latency["p99"][1].is_null()) << "nothing was recorded";
  EXPECT_EQ(metrics[1]["name"], "orders_total");
  EXPECT_EQ(metrics[1]["labels"]["kind"], "new");
  EXPECT_EQ(metrics[1]["per_second"], ordered_json::array({3, 0}));
  EXPECT_EQ(metrics[2]["value"], ordered_json::array({2.5, 2.5}));
  next.metrics.metrics.pop_back();
  next.metrics.metrics[0] = {.name = "waiting", .kind = MetricKind::kCounter, .count = 5};
  next.metrics.metrics.pop_back();
  add();
  ASSERT_EQ(history.since(0)["metrics"].size(), 1U) << "metrics that are gone are forgotten";
  EXPECT_EQ(history.since(0)["metrics"][0]["kind"], "counter");
  EXPECT_FALSE(history.since(0)["metrics"][0].contains("value")) << "a metric of another kind is another metric";
}

TEST_F(HistoryTest, at_most_two_hundred_metrics_are_kept) {
  for (size_t i = 0; i < History::kMostMetricTracks + 5; ++i) {
    next.metrics.metrics.push_back({.name = "a_total", .labels = {{"i", std::to_string(i)}}});
  }
  add();
  add();
  EXPECT_EQ(history.since(0)["metrics"].size(), History::kMostMetricTracks);
  EXPECT_EQ(history.since(0)["metrics_without_history"], 5);
  next.metrics.metrics.resize(3);
  add();
  EXPECT_EQ(history.since(0)["metrics"].size(), 3U);
  EXPECT_EQ(history.since(0)["metrics_without_history"], 0);
}

}  // namespace
}  // namespace peal::detail
