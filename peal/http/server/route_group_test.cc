// SPDX-License-Identifier: BSD-3-Clause
// Tests groups of routes, and middleware.
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/http/server/router.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class RouteGroupTest : public test::HttpTest {
 protected:
  // Both kinds of middleware note their names in the exchange when it passes them, and the handler answers with all
  // names.
  using Way = std::vector<std::string>;
  static void note(HttpExchange& exchange, std::string name) {
    Way* way = exchange.attached<Way>();
    if (way == nullptr) way = &exchange.attach(Way());
    way->push_back(std::move(name));
  }
  static HttpMiddleware noting(std::string name) {
    return [name](HttpExchange& exchange, HttpNext next) {
      note(exchange, name);
      next(exchange);
    };
  }
  static HttpMiddleware noting_coroutine(std::string name) {
    return [name](HttpExchange& exchange, HttpNext next) -> Task<> {
      const Result<void> slept = co_await sleep(std::chrono::milliseconds(1));
      if (!slept) co_return;
      note(exchange, name);
      co_await next.run(exchange);
    };
  }
  static std::string way_of(const HttpExchange& exchange) {
    std::string text;
    const Way* way = exchange.attached<Way>();
    if (way == nullptr) return text;
    for (const std::string& each : *way) text += each + ">";
    return text;
  }
  static HttpHandler answering(std::string name) {
    return [name](HttpExchange& exchange) { exchange.respond(200, "", way_of(exchange) + name); };
  }
  static HttpHandler answering_coroutine(std::string name) {
    return [name](HttpExchange& exchange) -> Task<> {
      const Result<void> slept = co_await sleep(std::chrono::milliseconds(1));
      exchange.respond(slept ? 200 : 500, "", way_of(exchange) + name);
    };
  }
  static HttpHandler answering_later(std::string name) {
    return [name](HttpExchange& exchange) {
      exchange.loop().after(std::chrono::milliseconds(1), [name, handle = exchange.handle()] {
        handle.run([name](HttpExchange& later) { later.respond(200, "", way_of(later) + name); });
      });
    };
  }
};

TEST_P(RouteGroupTest, middleware_stands_outermost_first_whenever_it_and_the_routes_were_added) {
  Router router;
  router.get("/early", answering("early"));
  router.use(noting("a"));
  RouteGroup api = router.group("/api");
  RouteGroup admin = api.group("/admin");
  admin.get("/{id}", answering("admin"));
  admin.use(noting("d"));
  api.use(noting("b"));
  api.use(noting("c"));
  api.get("", answering("api itself"));
  api.get("/items", answering("items"));
  router.group("").get("/plain", answering("plain"));
  serve(std::move(router));
  EXPECT_EQ(body_of("GET", "/early"), "a>early");
  EXPECT_EQ(body_of("GET", "/api"), "a>b>c>api itself");
  EXPECT_EQ(body_of("GET", "/api/items"), "a>b>c>items");
  EXPECT_EQ(body_of("GET", "/api/admin/7"), "a>b>c>d>admin");
  EXPECT_EQ(body_of("GET", "/plain"), "a>plain");
}

TEST_P(RouteGroupTest, functions_and_coroutines_stand_before_functions_coroutines_and_who_answers_later) {
  Router router;
  const auto add = [&](std::string_view path, std::vector<HttpMiddleware> middleware) {
    RouteGroup group = router.group(path);
    for (HttpMiddleware& each : middleware) group.use(std::move(each));
    group.get("/now", answering("now"));
    group.get("/task", answering_coroutine("task"));
    group.get("/later", answering_later("later"));
  };
  const auto list = [](auto... each) {
    std::vector<HttpMiddleware> list;
    (list.push_back(std::move(each)), ...);
    return list;
  };
  add("/ff", list(noting("f"), noting("f")));
  add("/fc", list(noting("f"), noting_coroutine("c")));
  add("/cc", list(noting_coroutine("c"), noting_coroutine("c")));
  add("/cf", list(noting_coroutine("c"), noting("f")));
  add("/cfcfc", list(noting_coroutine("c"), noting("f"), noting_coroutine("c"), noting("f"), noting_coroutine("c")));
  serve(std::move(router));
  for (const std::string handler : {"now", "task", "later"}) {
    EXPECT_EQ(body_of("GET", "/cf/" + handler), "c>f>" + handler);
    EXPECT_EQ(body_of("GET", "/cfcfc/" + handler), "c>f>c>f>c>" + handler);
    EXPECT_EQ(body_of("GET", "/ff/" + handler), "f>f>" + handler);
    EXPECT_EQ(body_of("GET", "/fc/" + handler), "f>c>" + handler);
    EXPECT_EQ(body_of("GET", "/cc/" + handler), "c>c>" + handler);
  }
}

TEST_P(RouteGroupTest, function_may_return_the_task_of_what_is_behind_it) {
  Router router;
  router.use([](HttpExchange& exchange, HttpNext next) {
    note(exchange, "f");
    return next.run(exchange);
  });
  router.get("/now", answering("now"));
  router.get("/task", answering_coroutine("task"));
  serve(std::move(router));
  EXPECT_EQ(body_of("GET", "/now"), "f>now");
  EXPECT_EQ(body_of("GET", "/task"), "f>task");
}

TEST_P(RouteGroupTest, function_may_pass_on_later_also_between_coroutines) {
  Router router;
  router.use(noting_coroutine("c"));
  router.use([](HttpExchange& exchange, HttpNext next) {
    exchange.loop().after(std::chrono::milliseconds(1), [next, handle = exchange.handle()] {
      handle.run([next](HttpExchange& later) { next(later); });
    });
  });
  router.use(noting_coroutine("d"));
  router.get("/now", answering("now"));
  router.get("/task", answering_coroutine("task"));
  serve(std::move(router));
  EXPECT_EQ(body_of("GET", "/now"), "c>d>now");
  EXPECT_EQ(body_of("GET", "/task"), "c>d>task");
}

TEST_P(RouteGroupTest, coroutine_sees_the_status_and_goes_on_after_the_answer) {
  std::vector<int> statuses;
  Router router;
  router.use([&](HttpExchange& exchange, HttpNext next) -> Task<> {
    co_await next.run(exchange);
    statuses.push_back(exchange.status());
  });
  router.get("/now", answering("now"));
  router.get("/task", answering_coroutine("task"));
  router.get("/later", answering_later("later"));
  router.get("/stream", [](HttpExchange& exchange) -> Task<> {
    exchange.begin(201);
    exchange.write("stream");
    co_return;  // the end of the coroutine completes the stream
  });
  router.get("/forgets", [](HttpExchange&) -> Task<> { co_return; });
  serve(std::move(router));
  EXPECT_EQ(body_of("GET", "/now"), "now");
  EXPECT_EQ(body_of("GET", "/task"), "task");
  EXPECT_EQ(body_of("GET", "/later"), "later");
  EXPECT_THAT(answer_to("GET", "/stream"), HasSubstr("stream"));
  EXPECT_EQ(body_of("GET", "/forgets"), "500");
  EXPECT_EQ(body_of("GET", "/nobody"), "404");
  EXPECT_TRUE(wait_until([&] { return statuses.size() == 6; }));
  EXPECT_THAT(statuses, ElementsAre(200, 200, 200, 201, 500, 404));
}

TEST_P(RouteGroupTest, what_a_handler_throws_passes_by_the_coroutines_before_it) {
  int caught = 0;
  Router router;
  router.use([&](HttpExchange& exchange, HttpNext next) -> Task<> {
    try {
      co_await next.run(exchange);
    } catch (const std::runtime_error&) {
      ++caught;
      throw;
    }
  });
  router.get("/now", [](HttpExchange&) { throw std::runtime_error("now"); });
  router.get("/task", [](HttpExchange&) -> Task<> {
    throw std::runtime_error("task");
    co_return;
  });
  serve(std::move(router));
  EXPECT_EQ(body_of("GET", "/now"), "500");
  EXPECT_EQ(body_of("GET", "/task"), "500");
  EXPECT_EQ(ask([&] { return caught; }), 2);
  EXPECT_EQ(server().stats().exceptions, 2U);
}

TEST_P(RouteGroupTest, client_that_goes_cancels_what_waits_for_an_answer) {
  int ended = 0;
  bool asked = false;
  Router router;
  router.use([&](HttpExchange& exchange, HttpNext next) -> Task<> {
    co_await next.run(exchange);
    EXPECT_TRUE(exchange.abandoned());
    ++ended;
  });
  router.get("/", [&](HttpExchange& exchange) {
    exchange.handle();
    asked = true;
  });
  serve(std::move(router));
  RawPeer one = peer_sending("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wait_until([&] { return asked; }));
  one.reset();
  EXPECT_TRUE(wait_until([&] { return ended == 1; }));
}

TEST_P(RouteGroupTest, answers_of_the_router_itself_go_through_middleware_too) {
  Router router;
  router.use([](HttpExchange& exchange, HttpNext next) {
    exchange.set_field("X-All", "1");
    next(exchange);
  });
  RouteGroup api = router.group("/api");
  api.use([](HttpExchange& exchange, HttpNext next) {
    exchange.set_field("X-Api", "1");
    next(exchange);
  });
  api.get("/items", answering("items"));
  RouteGroup closed = router.group("/closed");
  closed.use([](HttpExchange& exchange, HttpNext) { exchange.respond(401); });
  closed.get("/", answering("never"));
  serve(std::move(router));
  EXPECT_THAT(
      answer_to("DELETE", "/api/items"),
      testing::AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("X-All: 1\r\nX-Api: 1\r\nAllow: GET, HEAD, OPTIONS")));
  EXPECT_THAT(answer_to("OPTIONS", "/api/items"),
              testing::AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("X-All: 1\r\nX-Api: 1\r\nAllow: ")));
  const std::string unknown = answer_to("GET", "/api/nothing");
  EXPECT_THAT(unknown, testing::AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("X-All: 1\r\n")));
  EXPECT_THAT(unknown, testing::Not(HasSubstr("X-Api")));
  EXPECT_EQ(body_of("POST", "/closed/"), "401");
  EXPECT_EQ(server().stats().unrouted, 2U);
}

TEST_P(RouteGroupTest, path_is_known_under_another_method_also_beside_a_rest_for_any) {
  Router router;
  router.get("/api/items", answering("items"));
  router.get("/api/items/{id:uint}", answering("item"));
  router.post("/login", answering("login"));
  router.get("/{path*}", answering("page"));
  router.any("/{path*}", answering("any"));
  serve(std::move(router));
  EXPECT_THAT(answer_to("DELETE", "/api/items"),
              testing::AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD, OPTIONS\r\n")));
  EXPECT_THAT(answer_to("OPTIONS", "/api/items"),
              testing::AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("Allow: GET, HEAD, OPTIONS\r\n")));
  EXPECT_THAT(answer_to("PUT", "/api/items/7"), StartsWith("HTTP/1.1 405 "));
  EXPECT_EQ(body_of("PUT", "/api/items/seven"), "any");
  EXPECT_EQ(body_of("GET", "/login"), "page");
  EXPECT_EQ(body_of("DELETE", "/elsewhere"), "any");
}

TEST_P(RouteGroupTest, tunnel_at_a_path_makes_it_known_to_nobody_else) {
  Router router(answering("any"));
  router.add("CONNECT", "/", answering("tunnel"));
  serve(std::move(router));
  EXPECT_EQ(body_of("GET", "/"), "any");
}

TEST_P(RouteGroupTest, typed_parameters_take_their_numbers_alone_and_come_first) {
  Router router;
  router.get("/{name}", [](HttpExchange& exchange) {
    exchange.respond(200, "", "name " + std::string(exchange.parameter("name")));
  });
  router.get("/{id:uint}", [](HttpExchange& exchange) {
    exchange.respond(200, "", fmt::format("id {}", exchange.parameter<uint64_t>("id").value()));
  });
  router.get("/{offset:int}", [](HttpExchange& exchange) {
    exchange.respond(200, "", fmt::format("offset {}", exchange.parameter<int64_t>("offset").value()));
  });
  router.get("/{id:uint}/{part:uint}", [](HttpExchange& exchange) {
    exchange.respond(200, "", fmt::format("{}", exchange.parameter<uint8_t>("part").has_value()));
  });
  serve(std::move(router));
  EXPECT_EQ(body_of("GET", "/7"), "id 7");
  EXPECT_EQ(body_of("GET", "/18446744073709551615"), "id 18446744073709551615");
  EXPECT_EQ(body_of("GET", "/18446744073709551616"), "name 18446744073709551616");
  EXPECT_EQ(body_of("GET", "/-7"), "offset -7");
  EXPECT_EQ(body_of("GET", "/+7"), "name +7");
  EXPECT_EQ(body_of("GET", "/7x"), "name 7x");
  EXPECT_EQ(body_of("GET", "/7/255"), "true");
  EXPECT_EQ(body_of("GET", "/7/256"), "false");
  EXPECT_EQ(body_of("GET", "/7/x"), "404");
}

TEST_P(RouteGroupTest, values_of_each_type_are_attached_apart_and_gone_with_the_exchange) {
  Router router;
  router.use([](HttpExchange& exchange, HttpNext next) {
    EXPECT_EQ(exchange.attached<int>(), nullptr);
    exchange.attach(1);
    exchange.attach(std::string("text"));
    exchange.attach(2);
    next(exchange);
  });
  router.get("/", [](HttpExchange& exchange) {
    exchange.respond(200, "", fmt::format("{} {}", *exchange.attached<int>(), *exchange.attached<std::string>()));
  });
  serve(std::move(router));
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
              EndsWith("2 text"));
}

TEST_P(RouteGroupTest, patterns_prefixes_and_late_additions_that_are_refused) {
  Router router;
  EXPECT_THROW(router.group("api"), std::invalid_argument);
  EXPECT_THROW(router.group("/api/"), std::invalid_argument);
  RouteGroup api = router.group("/api");
  EXPECT_THROW(api.get("items", answering("x")), std::invalid_argument);
  EXPECT_THROW(api.get("/{id:float}", answering("x")), std::invalid_argument);
  EXPECT_THROW(api.get("/{id:uint*}", answering("x")), std::invalid_argument);
  EXPECT_THROW(api.get("/{:uint}", answering("x")), std::invalid_argument);
  EXPECT_THROW(router.get("", answering("x")), std::invalid_argument);
  api.get("/items", answering("items"));
  EXPECT_THROW(router.get("/api/items", answering("again")), std::invalid_argument);
  serve(std::move(router));
  EXPECT_THROW(api.get("/late", answering("late")), std::logic_error);
  EXPECT_THROW(api.use(noting("late")), std::logic_error);
  EXPECT_EQ(body_of("GET", "/api/items"), "items");
}

PEAL_TEST_ON_EVERY_PORT(RouteGroupTest);

}  // namespace
}  // namespace peal
