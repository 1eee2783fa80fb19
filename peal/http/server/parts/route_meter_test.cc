// SPDX-License-Identifier: BSD-3-Clause
// Tests the counters of routes on real engines, through layers and over TLS. Latencies and slow requests are in
// route_latency_test.cc, with a clock that the test moves.
#include <algorithm>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kHead = " HTTP/1.1\r\nHost: a\r\n";

class RouteMeterTest : public test::HttpTest {
 protected:
  static Router routes() {
    Router router;
    router.get("/users/{id:uint}", [](HttpExchange& exchange) { exchange.respond(200, "", exchange.parameter("id")); });
    router.any("/any/{path*}", [](HttpExchange& exchange) { exchange.respond(204); });
    router.post("/late", [](HttpExchange& exchange) -> Task<> {
      const Result<std::string> body = co_await exchange.read_all();
      exchange.respond(201, "text/plain", *body + *body);
    });
    router.get("/late", [](HttpExchange& exchange) -> Task<> {
      exchange.begin(200);
      exchange.write("one");
      co_await sleep(std::chrono::milliseconds(1));
      exchange.write("two");
    });
    RouteGroup group = router.group("/group");
    group.use([](HttpExchange& exchange, HttpNext) { exchange.respond(401, "", "no"); });
    group.get("/inner", [](HttpExchange& exchange) { exchange.respond(200); });
    router.get("/throws", [](HttpExchange&) { throw std::runtime_error("a handler"); });
    return router;
  }
  RouteFigures figures() {
    return ask([&] { return server().route_views().front()(); });
  }
  // Returns the figures of the only route with that method and pattern.
  RouteStats stats_of(std::string_view method, std::string_view pattern) {
    for (RouteStats& each : figures().routes) {
      if (each.method == method && each.pattern == pattern) return std::move(each);
    }
    return {};
  }
  // Waits until the histogram of the route has `count` values: they are added when their turn ends.
  testing::AssertionResult has_latencies(std::string_view method, std::string_view pattern, uint64_t count) {
    return wait_until([&, view = server().route_views().front()] {
      const RouteFigures found = view();
      return std::ranges::any_of(found.routes, [&](const RouteStats& each) {
        return each.method == method && each.pattern == pattern && each.latency.total_count() == count;
      });
    });
  }
};

TEST_P(RouteMeterTest, nothing_is_measured_unless_asked_for) {
  serve(routes());
  EXPECT_EQ(body_of("GET", "/users/7"), "7");
  EXPECT_THAT(figures().routes, IsEmpty());
  EXPECT_THAT(figures().slowest, IsEmpty());
  ask([&] { EXPECT_EQ(loop().turn_times(), nullptr); });
}

TEST_P(RouteMeterTest, requests_are_counted_by_route_in_the_order_of_the_router) {
  serve(routes()).measure_routes();
  server().measure_routes();
  EXPECT_EQ(body_of("GET", "/nowhere"), "404");
  EXPECT_EQ(body_of("DELETE", "/any/where"), "204");
  EXPECT_EQ(body_of("GET", "/users/12"), "12");
  EXPECT_EQ(body_of("GET", "/users/345"), "345");
  EXPECT_EQ(body_of("GET", "/late"), "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
  std::vector<std::string> names;
  for (const RouteStats& each : figures().routes) names.push_back(each.method + " " + each.pattern);
  EXPECT_THAT(names, ElementsAre("GET /users/{id:uint}", " /any/{path*}", "GET /late", " "));
  const RouteStats users = stats_of("GET", "/users/{id:uint}");
  EXPECT_EQ(users.requests, 2u);
  EXPECT_THAT(users.answers, ElementsAre(0, 0, 2, 0, 0, 0));
  EXPECT_EQ(users.response_body_bytes, 5u);
  EXPECT_EQ(users.abandoned, 0u);
  EXPECT_TRUE(has_latencies("GET", "/users/{id:uint}", 2));
  EXPECT_TRUE(has_latencies("GET", "/late", 1));
  EXPECT_EQ(stats_of("GET", "/late").response_body_bytes, 6u);
  EXPECT_EQ(server().stats().answers[2], 4u) << "the counters of the server stay complete";
  EXPECT_EQ(server().stats().answers[4], 1u);
  EXPECT_EQ(server().stats().requests, 5u);
}

TEST_P(RouteMeterTest, head_belongs_to_the_route_of_get) {
  serve(routes()).measure_routes();
  answer_to("HEAD", "/users/7");
  const RouteStats users = stats_of("GET", "/users/{id:uint}");
  EXPECT_EQ(users.answers[2], 1u);
  EXPECT_EQ(users.response_body_bytes, 0u);
}

TEST_P(RouteMeterTest, middleware_and_errors_belong_to_the_route_that_fits) {
  Router router = routes();
  router.post("/small", [](HttpExchange& exchange) { exchange.respond(200); }, {.body_limit_bytes = 1});
  serve(std::move(router)).measure_routes();
  EXPECT_EQ(body_of("GET", "/group/inner"), "401");
  EXPECT_EQ(body_of("GET", "/throws"), "500");
  answer_to("POST", "/small", "Content-Length: 100\r\n");
  EXPECT_EQ(stats_of("GET", "/group/inner").answers[4], 1u);
  EXPECT_EQ(stats_of("GET", "/throws").answers[5], 1u);
  EXPECT_EQ(stats_of("POST", "/small").answers[4], 1u);
}

TEST_P(RouteMeterTest, what_no_route_takes_has_no_pattern) {
  serve(routes(), {.limits = {.head_bytes = 2000}}).measure_routes();
  EXPECT_EQ(body_of("GET", "/users/7"), "7");
  EXPECT_EQ(body_of("GET", "/nowhere"), "404");
  EXPECT_EQ(body_of("PUT", "/users/7"), "405");
  EXPECT_EQ(body_of("OPTIONS", "/users/7"), "204");
  EXPECT_EQ(body_of("GET", "/%zz"), "400");
  answer_to("GET / HTTP/1.1\r\nbad field\r\n\r\n");
  answer_to("GET", "/users/7", "Long: " + std::string(3000, 'x') + "\r\n");
  const RouteStats none = stats_of("", "");
  EXPECT_EQ(none.requests, 6u);
  EXPECT_THAT(none.answers, ElementsAre(0, 0, 1, 0, 5, 0));
  EXPECT_EQ(stats_of("GET", "/users/{id:uint}").requests, 1u) << "a refused head does not belong to the route before";
}

TEST_P(RouteMeterTest, refused_head_after_a_request_of_the_same_connection_has_no_pattern) {
  serve(routes()).measure_routes();
  answer_to("GET /users/7 HTTP/1.1\r\nHost: a\r\n\r\nGET /users/7 HTTP/1.1\r\nbad field\r\n\r\n");
  EXPECT_EQ(stats_of("GET", "/users/{id:uint}").requests, 1u);
  EXPECT_EQ(stats_of("", "").requests, 1u);
}

TEST_P(RouteMeterTest, body_is_awaited_and_continue_is_no_answer) {
  serve(routes()).measure_routes();
  RawPeer one = peer_sending("POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(hears(one, "100 Continue"));
  EXPECT_EQ(stats_of("POST", "/late").requests, 0u);
  one.send("abc");
  ASSERT_TRUE(hears(one, "abcabc"));
  EXPECT_TRUE(has_latencies("POST", "/late", 1));
  EXPECT_THAT(stats_of("POST", "/late").answers, ElementsAre(0, 0, 1, 0, 0, 0));
  EXPECT_EQ(stats_of("POST", "/late").response_body_bytes, 6u);
}

// So many answers at once take the quick way too, where the processor's cycle counter is usable.
TEST_P(RouteMeterTest, pipelined_requests_of_two_routes_are_all_counted) {
  serve(routes()).measure_routes();
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 3; ++k) requests += fmt::format("GET /users/{}{}\r\n", i % 10, kHead);
    requests += fmt::format("GET /any/{}{}\r\n", i, kHead);
  }
  RawPeer one = peer();
  for (size_t round = 1; round <= 5; ++round) {
    one.send(requests);
    ASSERT_TRUE(hears(one, "HTTP/1.1 ", round * 400));
  }
  EXPECT_TRUE(has_latencies("GET", "/users/{id:uint}", 1500));
  EXPECT_TRUE(has_latencies("", "/any/{path*}", 500));
  EXPECT_EQ(stats_of("GET", "/users/{id:uint}").response_body_bytes, 1500u);
  EXPECT_EQ(stats_of("", "/any/{path*}").answers[2], 500u);
  EXPECT_EQ(server().stats().answers[2], 2000u);
}

TEST_P(RouteMeterTest, access_log_has_each_measured_answer) {
  std::string lines;
  serve(routes(), {.access_log = [&](std::string_view some) { lines += some; }}).measure_routes();
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += fmt::format("GET /users/7{}\r\n", kHead);
  RawPeer one = peer_sending(requests);
  ASSERT_TRUE(hears(one, "HTTP/1.1 ", 50));
  EXPECT_EQ(stats_of("GET", "/users/{id:uint}").requests, 50u);
  one.close();
  end_server();
  EXPECT_EQ(test::count_of(lines, "GET /users/7 HTTP/1.1"), 50u);
}

TEST_P(RouteMeterTest, access_log_alone_does_not_measure) {
  std::string lines;
  serve(routes(), {.access_log = [&](std::string_view some) { lines += some; }});
  EXPECT_EQ(body_of("GET", "/users/7"), "7");
  EXPECT_EQ(server().stats().answers[2], 1u);
  EXPECT_EQ(server().stats().response_body_bytes, 1u);
  EXPECT_THAT(figures().routes, IsEmpty());
  ask([&] { EXPECT_EQ(loop().turn_times(), nullptr); });
  end_server();
  EXPECT_EQ(test::count_of(lines, "GET /users/7 HTTP/1.1"), 1u);
}

TEST_P(RouteMeterTest, client_that_leaves_has_abandoned_its_request) {
  serve_get("/wait", left_unanswered()).measure_routes();
  RawPeer one = peer_sending("GET /wait?who=me HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1; }));
  EXPECT_THAT(figures().routes, IsEmpty());
  one.reset();
  ASSERT_TRUE(wait_until([&] { return server().connections() == 0; }));
  const RouteStats wait = stats_of("GET", "/wait");
  EXPECT_EQ(wait.requests, 1u);
  EXPECT_EQ(wait.abandoned, 1u);
  EXPECT_TRUE(wait.latency.empty());
  ASSERT_TRUE(wait_until([&, view = server().route_views().front()] {
    const RouteFigures found = view();
    return !found.routes.empty() && found.routes.front().abandoned == 1;
  }));
}

TEST_P(RouteMeterTest, upgrade_is_an_answer_101) {
  Router router;
  router.get("/socket", WebSocketEndpoint({}, {}));
  serve(std::move(router)).measure_routes();
  RawPeer one = peer_sending(
      "GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  ASSERT_TRUE(hears(one, "101 Switching Protocols"));
  EXPECT_TRUE(has_latencies("GET", "/socket", 1));
  EXPECT_THAT(stats_of("GET", "/socket").answers, ElementsAre(0, 1, 0, 0, 0, 0));
  one.close();
  ASSERT_TRUE(wait_until([&] { return server().connections() == 0; }));
  EXPECT_EQ(stats_of("GET", "/socket").requests, 1u);
}

TEST_P(RouteMeterTest, requests_in_progress_are_measured_too) {
  serve_get("/wait", left_unanswered());
  RawPeer one = peer_sending("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1; }));
  server().measure_routes();
  ask([&] { EXPECT_TRUE(unanswered.front().respond(200, "", "done")); });
  ASSERT_TRUE(hears(one, "done"));
  EXPECT_TRUE(has_latencies("GET", "/wait", 1));
  EXPECT_EQ(stats_of("GET", "/wait").answers[2], 1u);
}

TEST_P(RouteMeterTest, view_outlives_the_server) {
  serve(routes()).measure_routes();
  EXPECT_EQ(body_of("GET", "/users/7"), "7");
  const auto view = server().route_views().front();
  end_server();
  const RouteFigures kept = ask([&] { return view(); });
  ASSERT_EQ(kept.routes.size(), 1u);
  EXPECT_EQ(kept.routes.front().requests, 1u);
}

TEST_P(RouteMeterTest, server_that_is_destroyed_while_it_measures_counts_what_it_gives_up) {
  serve_get("/wait", left_unanswered()).measure_routes();
  RawPeer one = peer_sending("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1; }));
  const auto view = server().route_views().front();
  end_server();
  const RouteFigures kept = ask([&] { return view(); });
  ASSERT_EQ(kept.routes.size(), 1u);
  EXPECT_EQ(kept.routes.front().abandoned, 1u);
}

PEAL_TEST_ON_EVERY_PORT(RouteMeterTest);

RouteStats stats_named(std::string method, std::string pattern, uint64_t requests, int64_t latency) {
  RouteStats stats;
  stats.method = std::move(method);
  stats.pattern = std::move(pattern);
  stats.requests = requests;
  stats.answers = {0, 0, requests, 0, 1, 0};
  stats.abandoned = 2;
  stats.response_body_bytes = 10 * requests;
  stats.latency.record(latency);
  return stats;
}

TEST_P(RouteMeterTest, routes_beyond_the_first_500_are_counted_together) {
  Router router;
  for (int i = 0; i < 510; ++i) {
    router.get("/r" + std::to_string(i), [](HttpExchange& exchange) { exchange.respond(200, "", "ok"); });
  }
  serve(std::move(router)).measure_routes();
  for (const char* path : {"/r0", "/r499", "/r500", "/r509", "/r509"}) EXPECT_EQ(body_of("GET", path), "ok");
  EXPECT_EQ(stats_of("GET", "/r0").requests, 1u);
  EXPECT_EQ(stats_of("GET", "/r499").requests, 1u);
  EXPECT_EQ(stats_of("", kMoreRoutes).requests, 3u);
  EXPECT_EQ(figures().routes.size(), 3u);
}

TEST(RouteStatsTest, routes_of_the_same_method_and_pattern_are_added) {
  std::vector<RouteStats> sum{stats_named("GET", "/a", 1, 1'000'000)};
  add_routes(sum, {stats_named("POST", "/a", 5, 1), stats_named("GET", "/a", 2, 3'000'000)});
  ASSERT_EQ(sum.size(), 2u);
  EXPECT_EQ(sum.front().requests, 3u);
  EXPECT_THAT(sum.front().answers, ElementsAre(0, 0, 3, 0, 2, 0));
  EXPECT_EQ(sum.front().abandoned, 4u);
  EXPECT_EQ(sum.front().response_body_bytes, 30u);
  EXPECT_EQ(sum.front().latency.total_count(), 2u);
  EXPECT_EQ(sum.back().method, "POST");
  EXPECT_EQ(sum.back().requests, 5u);
}

}  // namespace
}  // namespace peal
