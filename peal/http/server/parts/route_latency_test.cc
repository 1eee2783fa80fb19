// SPDX-License-Identifier: BSD-3-Clause
// Tests the latencies of routes and the list of slow requests, with the simulator's clock.
#include <algorithm>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/http/client/http_client.h>
#include <peal/http/server/event_stream.h>
#include <peal/http/server/http_server.h>
#include <peal/http/server/parts/memory_carrier_test.h>
#include <peal/http/server/parts/route_meter.h>
#include <peal/sim/sim_loop_group.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// A timer ends up to a millisecond late, and a histogram has two significant digits.
testing::AssertionResult about(int64_t nanoseconds, Duration expected) {
  const Duration found(nanoseconds);
  if (found >= expected && found <= expected + milliseconds(1) + expected / 64) return testing::AssertionSuccess();
  return testing::AssertionFailure() << nanoseconds << " ns";
}

class RouteLatencyTest : public test::SimTest {
 protected:
  // /sleep/{ms} answers after that time.
  static Router sleeping() {
    Router router;
    router.get("/sleep/{ms:uint}", [](HttpExchange& exchange) -> Task<> {
      co_await sleep(milliseconds(*exchange.parameter<int>("ms")));
      exchange.respond(200, "", "slept");
    });
    router.get("/callback/{ms:uint}", [](HttpExchange& exchange) {
      exchange.loop().after(milliseconds(*exchange.parameter<int>("ms")),
                            [handle = exchange.handle()] { handle.respond(202, "", "called"); });
    });
    router.get("/now", [](HttpExchange& exchange) { exchange.respond(200); });
    return router;
  }

  test::SimPair pair{1, SimOptions()};
  std::optional<HttpClient> client{*pair.there};
  SocketAddress address;
  int answered = 0;

  void TearDown() override {
    client.reset();
    SimTest::TearDown();
  }
  void get(const std::string& target) {
    EXPECT_TRUE(client->fetch(HttpClientRequest("GET", "http://" + address.to_string() + target),
                              [this](const Result<HttpResponse>& response) { answered += response ? 1 : 0; }));
  }
  void get_and_wait(const std::string& target) {
    const int before = answered;
    get(target);
    EXPECT_TRUE(pair.run_until([&] { return answered > before; }));
  }
};

std::vector<std::string> targets_of(const RouteFigures& figures) {
  std::vector<std::string> targets;
  for (const SlowRequest& request : figures.slowest) targets.push_back(request.target);
  return targets;
}

TEST_F(RouteLatencyTest, latency_is_the_time_until_the_answer) {
  HttpServer server(*pair.here, sleeping());
  server.measure_routes();
  const auto view = server.route_views().front();
  address = pair.listen(server);
  get_and_wait("/sleep/50");
  get_and_wait("/callback/2000");
  get_and_wait("/now");
  const RouteFigures figures = view();
  ASSERT_EQ(figures.routes.size(), 3u);
  EXPECT_TRUE(about(figures.routes[0].latency.max(), milliseconds(50)));
  EXPECT_EQ(figures.routes[0].latency.total_count(), 1u);
  EXPECT_TRUE(about(figures.routes[1].latency.max(), seconds(2)));
  EXPECT_EQ(figures.routes[2].latency.total_count(), 1u);
  EXPECT_LT(figures.routes[2].latency.max(), 1'000);
}

TEST_F(RouteLatencyTest, slow_requests_are_listed_with_all_that_is_known) {
  Router router = sleeping();
  router.get("/stream", [](HttpExchange& exchange) -> Task<> {
    exchange.begin(200);
    co_await sleep(milliseconds(300));
    exchange.write("end");
  });
  HttpServer server(*pair.here, std::move(router));
  server.measure_routes();
  const auto view = server.route_views().front();
  address = pair.listen(server);
  const auto wall = std::chrono::system_clock::now();
  for (const char* target : {"/sleep/100", "/stream", "/callback/200?q=1", "/nowhere"}) get_and_wait(target);
  const RouteFigures figures = view();
  EXPECT_THAT(targets_of(figures), ElementsAre("/stream", "/callback/200?q=1", "/sleep/100")) << "others were fast";
  const SlowRequest& second = figures.slowest[1];
  EXPECT_EQ(second.method, "GET");
  EXPECT_EQ(second.route, "/callback/{ms:uint}");
  EXPECT_EQ(second.status, 202);
  EXPECT_THAT(second.client, StartsWith("127.0.0.1:"));
  EXPECT_TRUE(about(second.took.count(), milliseconds(200)));
  EXPECT_GE(second.began, wall - second.took);
  EXPECT_EQ(second.route_method, "GET");
}

TEST_F(RouteLatencyTest, only_the_slowest_are_listed_and_only_for_a_while) {
  HttpServer server(*pair.here, sleeping());
  server.measure_routes();
  const auto view = server.route_views().front();
  address = pair.listen(server);
  for (int ms = 10; ms < 40; ++ms) get_and_wait("/sleep/" + std::to_string(ms));
  EXPECT_EQ(view().slowest.size(), 16u);
  EXPECT_EQ(view().slowest.front().target, "/sleep/39");
  EXPECT_EQ(view().slowest.back().target, "/sleep/24");
  pair.run_for(minutes(5));
  get_and_wait("/sleep/5");
  EXPECT_EQ(view().slowest.size(), 16u) << "the requests of the 5 minutes before are listed still";
  pair.run_for(minutes(5));
  EXPECT_THAT(targets_of(view()), ElementsAre("/sleep/5"));
  pair.run_for(minutes(10));
  EXPECT_THAT(view().slowest, IsEmpty());
  EXPECT_EQ(view().routes.front().requests, 31u);
}

// All requests of a turn that took long were listed once, and those behind the slow one drove it out.
TEST_F(RouteLatencyTest, who_is_answered_behind_a_slow_request_is_not_slow) {
  detail::RouteMeter meter(*pair.here, 1, false);
  const TimePoint began = pair.here->now();
  pair.run_for(milliseconds(50));
  const auto slow = meter.slow_span(began, true);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->began, began);
  EXPECT_EQ(slow->ended - slow->began, milliseconds(50));
  EXPECT_FALSE(meter.slow_span(began, true)) << "it was answered at once, and only waited";
  pair.run_for(milliseconds(5));
  const auto next = meter.slow_span(began, true);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->began, slow->ended);
  EXPECT_EQ(next->ended - next->began, milliseconds(5));
  ASSERT_TRUE(meter.slow_span(began, false)) << "it was read in an earlier turn";
}

TEST_F(RouteLatencyTest, long_target_is_cut) {
  HttpServer server(*pair.here, sleeping());
  server.measure_routes();
  address = pair.listen(server);
  get_and_wait("/sleep/5?" + std::string(1000, 'x'));
  EXPECT_THAT(targets_of(server.route_views().front()()), ElementsAre("/sleep/5?" + std::string(247, 'x')));
}

TEST_F(RouteLatencyTest, abandoned_request_is_listed_without_a_latency) {
  HttpServer server(*pair.here, sleeping(), {.remember_peer = true});
  server.measure_routes();
  const auto view = server.route_views().front();
  address = pair.listen(server);
  ConnectionHandle leaving;
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&](Connection& connection) {
    connection.send("GET /sleep/10000 HTTP/1.1\r\nHost: a\r\n\r\n");
    leaving = connection.handle();
  };
  Client peer(*pair.there, std::move(callbacks));
  peer.connect(address);
  pair.run_for(seconds(1));
  leaving.run([](Connection& connection) { connection.abort(); });
  EXPECT_TRUE(pair.run_until([&] { return server.connections() == 0; }));
  pair.run_for(seconds(1));
  const RouteFigures figures = view();
  ASSERT_EQ(figures.routes.size(), 1u);
  EXPECT_EQ(figures.routes.front().abandoned, 1u);
  EXPECT_TRUE(figures.routes.front().latency.empty());
  ASSERT_EQ(figures.slowest.size(), 1u);
  EXPECT_EQ(figures.slowest.front().status, 0);
  EXPECT_THAT(figures.slowest.front().client, StartsWith("127.0.0.1:"));
  EXPECT_GT(figures.slowest.front().took, milliseconds(900));
  EXPECT_LT(figures.slowest.front().took, milliseconds(1100));
}

TEST_F(RouteLatencyTest, event_streams_are_counted_but_not_measured) {
  EventChannel channel;
  Router router;
  router.get("/events", [&](HttpExchange& exchange) { channel.add(EventStream(exchange)); });
  HttpServer server(*pair.here, std::move(router));
  server.measure_routes();
  const auto view = server.route_views().front();
  address = pair.listen(server);
  get("/events");
  pair.run_for(minutes(1));
  get("/events");
  pair.run_for(minutes(1));
  EXPECT_THAT(view().routes, IsEmpty()) << "they are not complete";
  client.reset();
  pair.run_for(minutes(1));
  const RouteFigures left = view();
  ASSERT_EQ(left.routes.size(), 1u);
  EXPECT_EQ(left.routes.front().abandoned, 2u);
  EXPECT_THAT(left.slowest, IsEmpty());
  client.emplace(*pair.there);
  get("/events");
  pair.run_for(minutes(1));
  bool drained = false;
  server.drain(seconds(10), [&](const DrainReport&) { drained = true; });
  EXPECT_TRUE(pair.run_until([&] { return drained; }));
  EXPECT_EQ(view().routes.front().answers[2], 1u);
  EXPECT_TRUE(view().routes.front().latency.empty());
  EXPECT_THAT(view().slowest, IsEmpty());
}

TEST_F(RouteLatencyTest, request_in_progress_has_its_whole_latency) {
  HttpServer server(*pair.here, sleeping());
  address = pair.listen(server);
  get("/sleep/1000");
  pair.run_for(milliseconds(500));
  const auto view = server.route_views().front();
  EXPECT_THAT(view().routes, IsEmpty());
  server.measure_routes();
  EXPECT_TRUE(pair.run_until([&] { return answered == 1; }));
  ASSERT_EQ(view().routes.size(), 1u);
  EXPECT_TRUE(about(view().routes.front().latency.max(), seconds(1)));
}

TEST_F(RouteLatencyTest, views_of_two_loops_are_summed) {
  SimLoopGroup group(pair.world, 2);
  HttpServer server(*group, sleeping(), {.accept = AcceptMode::kRoundRobin});
  server.measure_routes();
  address = pair.listen(server);
  for (int i = 0; i < 4; ++i) get("/sleep/100");
  EXPECT_TRUE(pair.run_until([&] { return answered == 4; }));
  std::vector<RouteStats> sum;
  size_t loops_with_requests = 0;
  for (const auto& view : server.route_views()) {
    const RouteFigures figures = view();
    loops_with_requests += figures.routes.empty() ? 0 : 1;
    add_routes(sum, figures.routes);
  }
  EXPECT_EQ(loops_with_requests, 2u);
  ASSERT_EQ(sum.size(), 1u);
  EXPECT_EQ(sum.front().requests, 4u);
  EXPECT_EQ(sum.front().latency.total_count(), 4u);
}

TEST_F(RouteLatencyTest, view_and_server_may_end_in_any_order) {
  std::function<RouteFigures()> view;
  {
    HttpServer server(*pair.here, sleeping());
    server.measure_routes();
    address = pair.listen(server);
    get("/callback/1000");
    get("/now");
    pair.run_for(milliseconds(500));
    view = server.route_views().front();
  }
  pair.run_for(seconds(1));
  const RouteFigures figures = view();
  ASSERT_EQ(figures.routes.size(), 2u);
  EXPECT_EQ(figures.routes.front().abandoned, 1u);
  EXPECT_EQ(figures.routes.back().answers[2], 1u);
}

// A protocol other than HTTP/1.1 measures its exchanges at the same place.
class CarriedRouteTest : public detail::MemoryStreamsTest {};

TEST_F(CarriedRouteTest, exchanges_of_one_connection_are_measured_each_by_itself) {
  router_.get("/sleep/{ms:uint}", [](HttpExchange& exchange) -> Task<> {
    co_await sleep(milliseconds(*exchange.parameter<int>("ms")));
    exchange.respond(200, "", "slept");
  });
  router_.get("/now", [](HttpExchange& exchange) { exchange.respond(200, "", "now"); });
  detail::MemoryStreams& streams = serve();
  streams.shard().measure_routes();
  const detail::MemoryRequest slow = streams.ask("GET /sleep/4");
  const detail::MemoryRequest quick = streams.ask("GET /now");
  const detail::MemoryRequest none = streams.ask("GET /else");
  detail::MemoryRequest gone = streams.ask("GET /sleep/5");
  gone.reset();
  run();
  EXPECT_TRUE(slow->ended && quick->ended && none->ended);
  const RouteFigures figures = streams.shard().route_figures();
  ASSERT_EQ(figures.routes.size(), 3u);
  EXPECT_EQ(figures.routes[0].requests, 2u);
  EXPECT_EQ(figures.routes[0].abandoned, 1u);
  EXPECT_TRUE(about(figures.routes[0].latency.max(), milliseconds(4)));
  EXPECT_EQ(figures.routes[1].latency.total_count(), 1u);
  EXPECT_EQ(figures.routes[1].response_body_bytes, 3u);
  EXPECT_EQ(figures.routes[2].answers[4], 1u);
  EXPECT_EQ(figures.slowest.front().target, "/sleep/4");
  EXPECT_EQ(streams.shard().snapshot().answers[2], 2u);
}

}  // namespace
}  // namespace peal
