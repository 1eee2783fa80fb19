// SPDX-License-Identifier: BSD-3-Clause
// The inspector shows the routes of an HTTP server, and its slowest requests.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <peal/http/server/http_server.h>
#include <peal/inspect/inspector.h>
#include <peal/loop/loop_group.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using nlohmann::json;
using test::http_answer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Router routes_to_be_shown() {
  Router router;
  router.get("/users/{id:uint}", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "a user"); });
  router.get("/slow", [](HttpExchange& exchange) -> Task<> {
    co_await sleep(std::chrono::milliseconds(20));
    exchange.respond(503, "text/plain", "not now");
  });
  return router;
}

class InspectorRoutesTest : public testing::Test {
 protected:
  void attach(const InspectorOptions& options = {}) {
    inspector = Inspector::attach(server, "127.0.0.1:0", options).value();
    for (const char* path : {"/users/1", "/users/2", "/slow", "/nowhere"}) {
      http_answer(served, fmt::format("GET {}", path), "Connection: close\r\n");
    }
    // A slow request is listed at the end of the turn, and its client may be faster.
    while (options.measure_routes && !get("/server/0").contains("\"request\":\"GET /slow\"")) continue;
  }
  std::string get(std::string_view path, std::string_view fields = "Accept: application/json\r\n") {
    return http_answer(inspector->address(), fmt::format("GET {}", path), std::string(fields));
  }
  json get_json(std::string_view path) {
    const std::string answer = get(path);
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4), nullptr, false);
  }

  std::unique_ptr<LoopGroup> group = LoopGroup::start(2, {.engine = "epoll"}).value();
  HttpServer server{*group, routes_to_be_shown()};
  SocketAddress served = server.listen("127.0.0.1:0").value();
  std::unique_ptr<Inspector> inspector;
};

TEST_F(InspectorRoutesTest, a_server_lists_its_routes_and_its_slowest_requests) {
  attach();
  const json shown = get_json("/server/0");
  ASSERT_EQ(shown["routes"].size(), 3U) << shown;
  // The order depends on which loop has answered which request.
  const auto route = [&](std::string_view name) {
    for (const json& each : shown["routes"]) {
      if (each["route"] == name) return each;
    }
    return json();
  };
  const json users = route("GET /users/{id:uint}");
  EXPECT_EQ(users["requests"], 2) << "of both loops";
  EXPECT_EQ(users["answers_2xx"], 2);
  EXPECT_EQ(users["response_body_bytes"], 12);
  EXPECT_EQ(users["server"], 0);
  EXPECT_EQ(route("GET /slow")["answers_5xx"], 1);
  EXPECT_GE(route("GET /slow")["latency_max_seconds"], 0.0195);
  EXPECT_EQ(route("no route")["answers_4xx"], 1);
  const json& list = shown["slowest"];
  const json& slowest = *std::ranges::find_if(list, [](const json& each) { return each["request"] == "GET /slow"; });
  EXPECT_EQ(slowest["route"], "GET /slow");
  EXPECT_EQ(slowest["status"], 503);
  EXPECT_GE(slowest["took_seconds"], 0.0195);
  EXPECT_THAT(slowest["client"].get<std::string>(), StartsWith("127.0.0.1:"));
  EXPECT_FALSE(shown["server"].contains("routes"));
}

TEST_F(InspectorRoutesTest, a_route_has_a_page_of_its_own) {
  attach();
  const json shown = get_json("/route?server=0&name=GET%20/slow");
  EXPECT_EQ(shown["route"]["route"], "GET /slow");
  EXPECT_EQ(shown["route"]["name"], "server 0");
  EXPECT_EQ(shown["route"]["requests"], 1);
  EXPECT_EQ(shown["slowest"].size(), 1U);
  EXPECT_THAT(get("/route?server=0&name=GET+/users/%7Bid:uint%7D", "Accept: text/html\r\n"),
              AllOf(HasSubstr("<section id=\"route\">"), HasSubstr("<dd data-key=\"requests\" class=\"n\">2</dd>")));
  EXPECT_THAT(get("/route?server=0&name=GET+/slow", "Accept: */*\r\n"), HasSubstr("\nslowest\n"));
  for (const char* query : {"", "?server=0", "?name=GET+/slow", "?server=1&name=GET+/slow", "?server=0&name=/slow"}) {
    EXPECT_THAT(get(fmt::format("/route{}", query)), StartsWith("HTTP/1.1 404 ")) << query;
  }
  EXPECT_THAT(get("/metrics"), HasSubstr("\npeal_route_requests_total{server=\"0\",name=\"server 0\","
                                         "route=\"GET /users/{id:uint}\"} 2\n"));
}

TEST_F(InspectorRoutesTest, nothing_is_measured_if_the_options_say_so) {
  attach({.measure_routes = false});
  EXPECT_EQ(get_json("/server/0")["server"]["requests"], 4);
  EXPECT_FALSE(get_json("/server/0").contains("routes"));
  EXPECT_THAT(get("/metrics"), Not(HasSubstr("peal_route_")));
}

}  // namespace
}  // namespace peal
