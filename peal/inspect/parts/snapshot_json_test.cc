// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/snapshot_json.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <peal/inspect/parts/snapshot_metrics.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "\"<\\\n\x01\xff\xc3 \xed\xa0\x80";

Snapshot hostile() {
  Snapshot snapshot;
  snapshot.process.name = snapshot.process.command = kHostile;
  snapshot.system.host = kHostile;
  LoopSnapshot loop{.answered = true, .thread = kHostile};
  TurnTimes times;
  times.begin_turn(TimePoint(std::chrono::seconds(1)));
  times.woke_at() = TimePoint(std::chrono::seconds(4));
  times.begin_turn(TimePoint(std::chrono::seconds(5)));
  loop.times = times;
  snapshot.loops.push_back(loop);
  ServerSnapshot server{.name = kHostile};
  server.http = HttpStats{.requests = 7};
  server.routes.push_back({.method = kHostile, .pattern = kHostile});
  server.slowest.push_back({.method = kHostile, .target = kHostile, .route = kHostile, .client = kHostile});
  server.rows.push_back({.name = {.server = 0, .part = 1, .slot = 2, .generation = 3}});
  snapshot.servers.push_back(server);
  snapshot.stalls.push_back({.thread_name = kHostile, .what = kHostile, .stack = kHostile});
  snapshot.threads.push_back({.id = 1, .name = kHostile});
  return snapshot;
}

TEST(SnapshotJson, any_bytes_become_valid_json) {
  const std::string text = dump(to_json(hostile()));
  const Json json = Json::parse(text);
  EXPECT_THAT(json["threads"][0]["name"].get<std::string>(), HasSubstr("\xef\xbf\xbd"));
  EXPECT_EQ(json["connections"][0]["id"], "0.1.2.3");
  EXPECT_EQ(json["servers"][0]["requests"], 7);
}

TEST(SnapshotJson, busy_share_is_of_the_time_since_it_is_measured) {
  const Json loop = to_json(hostile())["loops"][0];
  EXPECT_DOUBLE_EQ(loop["busy_share"].get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(loop["waiting_seconds"].get<double>(), 3);
  EXPECT_NEAR(loop["turn_max_seconds"].get<double>(), 1, 0.01);
  EXPECT_EQ(loop["turn_histogram"].size(), kTimeLimitsNs.size());
  EXPECT_EQ(loop["turn_histogram"][10][1], 1);
}

TEST(SnapshotJson, loop_says_whether_it_answers) {
  Snapshot snapshot;
  snapshot.loops.resize(3);
  snapshot.loops[0].answered = true;
  snapshot.loops[1].silent = std::chrono::milliseconds(1500);
  snapshot.loops[2].ended = true;
  const Json json = to_json(snapshot);
  EXPECT_EQ(json["loops"][0]["state"], "answers");
  EXPECT_EQ(json["loops"][1]["state"], "STALLED");
  EXPECT_DOUBLE_EQ(json["loops"][1]["silent_seconds"].get<double>(), 1.5);
  EXPECT_EQ(json["loops"][2]["state"], "ended");
}

TEST(SnapshotJson, connection_that_has_ended_leaves_its_flight) {
  ConnectionDetail detail;
  detail.recorded = true;
  detail.events.push_back(
      {.at = TimePoint(std::chrono::seconds(1)), .id = {}, .kind = FlightKind::kReceived, .bytes = 5});
  detail.now = TimePoint(std::chrono::seconds(3));
  const Json json = to_json(detail);
  EXPECT_TRUE(json["connection"].is_null());
  EXPECT_EQ(dump(json["flight"]), R"([{"ago_seconds":2.0,"event":"received","bytes":5}])");
}

TEST(SnapshotJson, names_of_connections_are_read_back) {
  const ConnectionName name{.server = 2, .part = 0, .slot = 17, .generation = 4'294'967'295};
  const auto parsed = ConnectionName::parse(name.to_string());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->to_string(), "2.0.17.4294967295");
  for (const char* wrong : {"", "1", "1.2.3", "1.2.3.", "1.2.3.4.", "1.2.3.4.5", "1.2.3.x", "-1.2.3.4", " 1.2.3.4",
                            "1.2.3.4294967296", "1..3.4", "99999999999999999999.1.1.1"}) {
    EXPECT_FALSE(ConnectionName::parse(wrong)) << wrong;
  }
}

TEST(SnapshotMetrics, every_loop_and_server_has_its_samples) {
  Snapshot snapshot = hostile();
  snapshot.loops[0].thread = "main";
  snapshot.servers[0].name = "front";
  snapshot.servers[0].connections = 3;
  const std::string text = to_metrics(snapshot, MetricsFormat::kOpenMetrics);
  EXPECT_THAT(text, HasSubstr("peal_loop_busy_seconds_total{loop=\"0\",thread=\"main\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("peal_loop_turn_seconds_bucket{loop=\"0\",thread=\"main\",le=\"0.3\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("peal_loop_turn_seconds_bucket{loop=\"0\",thread=\"main\",le=\"+Inf\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("peal_loop_turn_seconds_count{loop=\"0\",thread=\"main\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("peal_server_connections{server=\"0\",name=\"front\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("peal_http_requests_total{server=\"0\",name=\"front\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("# UNIT process_cpu_seconds seconds\n"));
  EXPECT_THAT(text, testing::EndsWith("# EOF\n"));
  EXPECT_THAT(to_metrics(snapshot, MetricsFormat::kPrometheus), Not(HasSubstr("EOF")));
}

Snapshot over_layer(std::chrono::seconds certificate_left) {
  Snapshot snapshot;
  snapshot.taken = std::chrono::system_clock::time_point(std::chrono::hours(500'000)) + std::chrono::milliseconds(500);
  snapshot.servers.emplace_back().name = "front";
  snapshot.servers.emplace_back().number = 1;
  snapshot.servers[0].layer = {
      .handshakes = 50,
      .resumed = 20,
      .failed = 7,
      .in_the_clear = 3,
      .under_way = 2,
      .reloads = 5,
      .reloads_failed = 1,
      .valid_until = std::chrono::floor<std::chrono::seconds>(snapshot.taken) + certificate_left};
  return snapshot;
}

TEST(SnapshotMetrics, layer_has_its_samples_where_there_is_one) {
  const std::string text = to_metrics(over_layer(std::chrono::seconds(1000)), MetricsFormat::kOpenMetrics);
  for (const char* sample : {"handshakes_total{} 50", "resumed_handshakes_total{} 20", "failed_handshakes_total{} 7",
                             "clear_peers_total{} 3", "reloads_total{} 5", "failed_reloads_total{} 1",
                             "handshakes_under_way{} 2", "certificate_left_seconds{} 1000"}) {
    std::string line = std::string("\npeal_layer_") + sample + "\n";
    line.replace(line.find("{}"), 2, "{server=\"0\",name=\"front\"}");
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(testing::ContainsRegex("peal_layer_[a-z_]*[{]server=\"1\"")));
  EXPECT_THAT(to_metrics(over_layer(std::chrono::seconds(-5)), MetricsFormat::kOpenMetrics),
              HasSubstr("certificate_left_seconds{server=\"0\",name=\"front\"} -5\n"));
  Snapshot none = over_layer({});
  none.servers[0].layer->valid_until = {};
  EXPECT_THAT(to_metrics(none, MetricsFormat::kOpenMetrics), Not(HasSubstr("certificate_left_seconds{")));
  none.servers[0].layer.reset();
  EXPECT_THAT(to_metrics(none, MetricsFormat::kOpenMetrics), Not(HasSubstr("peal_layer")));
}

TEST(SnapshotJson, certificate_is_told_of_where_there_is_one_however_far_its_end) {
  using std::chrono::sys_days;
  Snapshot snapshot = over_layer(std::chrono::seconds(1000));
  EXPECT_EQ(to_json(snapshot)["servers"][0]["certificate_left_seconds"], 1000);
  EXPECT_FALSE(to_json(snapshot)["servers"][1].contains("layer_handshakes"));
  snapshot.servers[0].layer->valid_until = sys_days(std::chrono::year(9999) / 12 / 31);  // RFC 5280 4.1.2.5: no end
  EXPECT_GT(to_json(snapshot)["servers"][0]["certificate_left_seconds"], 7900 * int64_t{365 * 86'400});
  snapshot.servers[0].layer->valid_until = {};
  EXPECT_FALSE(to_json(snapshot)["servers"][0].contains("certificate_left_seconds"));
}

TEST(SnapshotJson, what_a_connections_layer_has_agreed_on_is_told) {
  ConnectionDetail detail;
  detail.facts = ConnectionFacts{.layer = LayerFacts{.protocol = "TLSv1.3",
                                                     .cipher = "TLS_AES_128_GCM_SHA256",
                                                     .application = "http/1.1",
                                                     .peer = "CN=anna",
                                                     .names = {"DNS:a.example", kHostile},
                                                     .resumed = true}};
  const Json json = Json::parse(dump(to_json(detail)))["connection"];
  EXPECT_EQ(json["protocol"], "TLSv1.3");
  EXPECT_EQ(json["cipher"], "TLS_AES_128_GCM_SHA256");
  EXPECT_EQ(json["application"], "http/1.1");
  EXPECT_EQ(json["peer_subject"], "CN=anna");
  EXPECT_EQ(json["peer_names"][0], "DNS:a.example");
  EXPECT_EQ(json["resumed"], true);
  detail.facts->layer.reset();
  EXPECT_FALSE(to_json(detail)["connection"].contains("protocol"));
}

TEST(SnapshotMetrics, server_that_speaks_no_http_has_no_requests) {
  Snapshot snapshot;
  snapshot.servers.emplace_back();
  EXPECT_THAT(to_metrics(snapshot, MetricsFormat::kOpenMetrics), Not(HasSubstr("peal_http_requests_total{")));
}

Snapshot with_method(std::string name) {
  Snapshot snapshot;
  snapshot.servers.emplace_back().name = "plain";
  ServerSnapshot& server = snapshot.servers.emplace_back();
  server.number = 1;
  server.name = "rpc";
  MethodStats method{
      .name = std::move(name), .calls = 103, .failed = 5, .timed_out = 4, .cancelled = 3, .threw = 1, .under_way = 2};
  method.latency.record_n(1'000'000, 89);
  method.latency.record_n(2'000'000, 9);
  method.latency.record_n(40'000'000, 2);
  server.methods.push_back(std::move(method));
  return snapshot;
}

TEST(SnapshotJson, methods_of_a_server_have_their_calls_and_latencies) {
  const Json json = to_json(with_method("echo.Service.Echo"));
  EXPECT_FALSE(json["servers"][0].contains("methods"));
  ASSERT_EQ(json["servers"][1]["methods"].size(), 1u);
  const Json& method = json["servers"][1]["methods"][0];
  EXPECT_EQ(method["method"], "echo.Service.Echo");
  EXPECT_EQ(method["calls"], 103);
  EXPECT_EQ(method["under_way"], 2);
  EXPECT_EQ(method["failed"], 5);
  EXPECT_EQ(method["timed_out"], 4);
  EXPECT_EQ(method["cancelled"], 3);
  EXPECT_EQ(method["handler_exceptions"], 1);
  EXPECT_NEAR(method["latency_p50_seconds"].get<double>(), 0.001, 0.00002);
  EXPECT_NEAR(method["latency_p90_seconds"].get<double>(), 0.002, 0.00004);
  EXPECT_NEAR(method["latency_p99_seconds"].get<double>(), 0.04, 0.0008);
  EXPECT_NEAR(method["latency_max_seconds"].get<double>(), 0.04, 0.0008);
  ASSERT_EQ(method["latency_histogram"].size(), kTimeLimitsNs.size());
  EXPECT_EQ(method["latency_histogram"][5][1], 9) << "over 1 ms, up to 3 ms";
  EXPECT_EQ(method["latency_histogram"][8][1], 2) << "over 30 ms, up to 100 ms";
}

TEST(SnapshotJson, method_that_was_never_called_has_latencies_of_0) {
  Snapshot snapshot = with_method(kHostile);
  snapshot.servers[1].methods[0].latency.reset();
  const Json method = Json::parse(dump(to_json(snapshot)))["servers"][1]["methods"][0];
  EXPECT_THAT(method["method"].get<std::string>(), HasSubstr("\xef\xbf\xbd"));
  EXPECT_EQ(method["latency_p50_seconds"], 0);
  EXPECT_EQ(method["latency_max_seconds"], 0);
}

TEST(SnapshotMetrics, methods_have_their_samples_where_there_are_some) {
  const std::string text = to_metrics(with_method("a\"b\n"), MetricsFormat::kOpenMetrics);
  const auto has_sample = [&text](std::string_view name, std::string_view more, std::string_view value) {
    const std::string labels = "{server=\"1\",name=\"rpc\",method=\"a\\\"b\\n\"" + std::string(more) + "} ";
    EXPECT_THAT(text, HasSubstr("\npeal_method_" + std::string(name) + labels + std::string(value)));
  };
  has_sample("calls_total", "", "103\n");
  has_sample("failed_calls_total", "", "5\n");
  has_sample("timed_out_calls_total", "", "4\n");
  has_sample("cancelled_calls_total", "", "3\n");
  has_sample("exceptions_total", "", "1\n");
  has_sample("calls_under_way", "", "2\n");
  has_sample("latency_seconds_bucket", ",le=\"0.003\"", "98\n");
  has_sample("latency_seconds_bucket", ",le=\"+Inf\"", "100\n");
  has_sample("latency_seconds_sum", "", "0.18");
  has_sample("latency_seconds_count", "", "100\n");
  has_sample("latency_quantile_seconds", ",quantile=\"0.5\"", "0.00100");
  has_sample("latency_quantile_seconds", ",quantile=\"0.9\"", "0.0020");
  has_sample("latency_quantile_seconds", ",quantile=\"0.99\"", "0.040");
  has_sample("latency_quantile_seconds", ",quantile=\"1\"", "0.040");
  EXPECT_THAT(text, Not(HasSubstr("server=\"0\",name=\"plain\",method=")));
  Snapshot none = with_method("a");
  none.servers[1].methods.clear();
  EXPECT_THAT(to_metrics(none, MetricsFormat::kOpenMetrics), Not(HasSubstr("peal_method")));
}

Snapshot with_routes() {
  Snapshot snapshot;
  ServerSnapshot server{.number = 2, .name = "api"};
  RouteStats route{.method = "GET", .pattern = "/a/{id}", .requests = 7, .abandoned = 1, .response_body_bytes = 90};
  route.answers = {0, 0, 4, 0, 2, 0};
  route.latency.record_n(1'000'000, 6);
  server.routes = {route, {.pattern = "/any", .requests = 1}, {.requests = 3}};
  snapshot.servers.push_back(server);
  return snapshot;
}

TEST(SnapshotJson, routes_of_a_server_have_their_answers_and_latencies) {
  const Json routes = to_json(with_routes())["servers"][0]["routes"];
  ASSERT_EQ(routes.size(), 3U);
  EXPECT_EQ(routes[0]["route"], "GET /a/{id}");
  EXPECT_EQ(routes[0]["requests"], 7);
  EXPECT_EQ(routes[0]["answers_2xx"], 4);
  EXPECT_EQ(routes[0]["answers_4xx"], 2);
  EXPECT_EQ(routes[0]["abandoned"], 1);
  EXPECT_EQ(routes[0]["response_body_bytes"], 90);
  EXPECT_NEAR(routes[0]["latency_p99_seconds"].get<double>(), 0.001, 0.00002);
  EXPECT_EQ(routes[1]["route"], "(any) /any");
  EXPECT_EQ(routes[2]["route"], "no route");
}

TEST(SnapshotMetrics, routes_have_their_samples_where_there_are_some) {
  const std::string text = to_metrics(with_routes(), MetricsFormat::kPrometheus);
  const std::string_view labels = "server=\"2\",name=\"api\",route=\"GET /a/{id}\"";
  EXPECT_THAT(text, HasSubstr(fmt::format("\npeal_route_requests_total{{{}}} 7\n", labels)));
  EXPECT_THAT(text, HasSubstr(fmt::format("\npeal_route_abandoned_requests_total{{{}}} 1\n", labels)));
  EXPECT_THAT(text, HasSubstr(fmt::format("\npeal_route_response_body_bytes_total{{{}}} 90\n", labels)));
  EXPECT_THAT(text, HasSubstr(fmt::format("\npeal_route_answers_total{{{},code=\"4xx\"}} 2\n", labels)));
  EXPECT_THAT(text, HasSubstr(fmt::format("\npeal_route_latency_seconds_count{{{}}} 6\n", labels)));
  EXPECT_THAT(text, HasSubstr("route=\"no route\""));
  EXPECT_THAT(to_metrics({}, MetricsFormat::kPrometheus), Not(HasSubstr("peal_route_")));
}

}  // namespace
}  // namespace peal::detail
