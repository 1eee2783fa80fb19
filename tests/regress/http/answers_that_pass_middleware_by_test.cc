// SPDX-License-Identifier: BSD-3-Clause
// A request that announced a body longer than its route accepts was answered 413 before the middleware of the route was
// called. The answer had no CORS fields, so a browser showed its page a CORS error. It had no request id and no metric,
// and the program logged no line. The same body was answered through middleware if it was sent in chunks.
//
// Now, once the head of a request is read, each answer of the server goes through the middleware of the route, or of
// the router if there is no route. docs/http.md has the table.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <peal/http/server/http_server.h>
#include <tests/support/http_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// All that a test observes of one request.
struct AnswerSeen {
  std::string heard;               // what the client received
  std::vector<std::string> noted;  // what a middleware coroutine noted after next.run(): a status, or "threw"
  std::string logged;              // the lines of the access log
  HttpStats stats;
};

class AnswersThatPassMiddlewareBy : public test::SimTest {
 protected:
  Router routes() {
    Router router;
    router.use([this](HttpExchange& exchange, HttpNext next) -> Task<> {
      exchange.set_field("X-Id", "7");
      try {
        co_await next.run(exchange);
      } catch (...) {
        seen_.noted.emplace_back("threw");
        throw;
      }
      seen_.noted.push_back(std::to_string(exchange.status()));
    });
    router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "", "page"); });
    router.get("/throws", [](HttpExchange&) { throw std::runtime_error("no"); });
    router.get("/silent", [](HttpExchange& exchange) { exchange.on_abandoned([](HttpExchange&) {}); });
    RouteGroup small = router.group("/small");
    small.use([](HttpExchange& exchange, HttpNext next) {
      exchange.set_field("X-Small", "1");
      next(exchange);
    });
    const auto read = [](HttpExchange& exchange) {
      exchange.set_field("Content-Encoding", "gzip");  // belongs to an answer that is never sent
      exchange.read_body([](HttpExchange& its, std::string&&) { its.respond(200, "", "read"); });
    };
    small.post("", read, {.body_limit_bytes = 10});
    small.post("/{name}", read, {.body_limit_bytes = 10});
    small.post("/awaits", [](HttpExchange& exchange) -> Task<> { (void)co_await exchange.read_all(); },
               {.body_limit_bytes = 10});
    return router;
  }
  // Sends `request`, with Host and Connection fields after its first line, and returns what was observed.
  AnswerSeen ask(std::string_view request) {
    seen_ = {};
    const size_t line = request.find("\r\n") + 2;
    const std::string text =
        fmt::format("{}Host: h\r\nConnection: close\r\n{}", request.substr(0, line), request.substr(line));
    on_seeds(1, {}, [&](test::SimPair& pair) {
      HttpServer server(
          *pair.here, routes(),
          {.answer_timeout = seconds(5), .access_log = [this](std::string_view lines) { seen_.logged += lines; }});
      bool closed = false;
      Client client(*pair.there, {.on_open = [&](Connection& connection) { connection.send(text); },
                                  .on_message = test::hearing(seen_.heard),
                                  .on_close = [&](Connection&, CloseReason) { closed = true; }});
      ASSERT_TRUE(client.connect(pair.listen(server)));
      ASSERT_TRUE(pair.run_until([&] { return closed; })) << seen_.heard;
      pair.run_for(seconds(2));
      seen_.stats = server.stats();
    });
    return std::move(seen_);
  }
  void expect_through(std::string_view request, int status, std::string_view noted) {
    const AnswerSeen seen = ask(request);
    EXPECT_THAT(seen.heard, StartsWith(fmt::format("HTTP/1.1 {} ", status))) << request;
    EXPECT_THAT(seen.heard, HasSubstr("X-Id: 7\r\n")) << request;
    EXPECT_THAT(seen.heard, Not(HasSubstr("Content-Encoding"))) << request;
    EXPECT_THAT(seen.noted, testing::ElementsAre(noted)) << request;
    EXPECT_THAT(seen.logged, HasSubstr(fmt::format(" HTTP/1.1\" {} ", status))) << request;
    EXPECT_EQ(seen.stats.answers[static_cast<size_t>(status / 100)], 1U) << request;
  }
  void expect_by(std::string_view request, int status, std::string_view logged) {
    const AnswerSeen seen = ask(request);
    EXPECT_THAT(seen.heard, StartsWith(fmt::format("HTTP/1.1 {} ", status))) << request;
    EXPECT_THAT(seen.heard, Not(HasSubstr("X-Id"))) << request;
    EXPECT_THAT(seen.noted, testing::IsEmpty()) << request;
    EXPECT_THAT(seen.logged, HasSubstr(fmt::format("{} {} ", logged, status))) << request;
    EXPECT_EQ(seen.stats.answers[static_cast<size_t>(status / 100)], 1U) << request;
  }

 private:
  AnswerSeen seen_;
};

TEST_F(AnswersThatPassMiddlewareBy, body_that_is_announced_as_too_long) {
  for (const std::string_view path : {"/small", "/small/a", "/small/a%20b", "/small/awaits"}) {
    const std::string request = fmt::format("POST {} HTTP/1.1\r\nContent-Length: 11\r\n", path);
    expect_through(request + "\r\n12345678901", 413, "413");
    expect_through(request + "Expect: 100-continue\r\n\r\n", 413, "413");
    const AnswerSeen seen = ask(request + "\r\n12345678901");
    EXPECT_THAT(seen.heard, HasSubstr("X-Small: 1\r\n")) << path;
    EXPECT_EQ(seen.stats.too_large, 1U);
  }
}

TEST_F(AnswersThatPassMiddlewareBy, body_that_turns_out_to_be_wrong) {
  for (const std::string_view path : {"/small", "/small/awaits"}) {
    const std::string chunked = fmt::format("POST {} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", path);
    expect_through(chunked + "b\r\n12345678901\r\n0\r\n\r\n", 413, "413");
    expect_through(chunked + "x\r\n", 400, "400");
    expect_through(chunked + "1\r\n1\r\n0\r\nx: " + std::string(5000, 'x') + "\r\n\r\n", 431, "431");
    expect_through(chunked + "1\r\n1", 408, "408");  // the client sends nothing more
  }
}

TEST_F(AnswersThatPassMiddlewareBy, answers_of_the_router) {
  expect_through("GET /nothing HTTP/1.1\r\n\r\n", 404, "404");
  expect_through("DELETE / HTTP/1.1\r\n\r\n", 405, "405");
  expect_through("OPTIONS / HTTP/1.1\r\n\r\n", 204, "204");
  expect_through("OPTIONS * HTTP/1.1\r\n\r\n", 204, "204");
  expect_through("GET /a%2Fb HTTP/1.1\r\n\r\n", 400, "400");
  expect_through("GET /../a HTTP/1.1\r\n\r\n", 400, "400");
  EXPECT_EQ(ask("GET /../a HTTP/1.1\r\n\r\n").stats.malformed, 1U);
}

TEST_F(AnswersThatPassMiddlewareBy, connect_that_no_handler_takes) {
  expect_through("CONNECT h:1 HTTP/1.1\r\n\r\n", 501, "501");
}

TEST_F(AnswersThatPassMiddlewareBy, answers_in_the_handlers_place) {
  expect_through("GET /throws HTTP/1.1\r\n\r\n", 500, "threw");
  expect_through("GET /silent HTTP/1.1\r\n\r\n", 503, "503");
}

// Middleware cannot be called with such a request: it is malformed or incomplete, or different programs could
// understand it differently.
TEST_F(AnswersThatPassMiddlewareBy, malformed_requests_are_answered_without_middleware) {
  expect_by("GET / HTTP/1.1\r\nA : b\r\n\r\n", 400, "\"-\"");
  expect_by("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400, "\"-\"");
  expect_by("POST / HTTP/1.1\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n1", 417, "\"-\"");
  expect_by("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, "\"-\"");
  expect_by("GET / HTTP/3.0\r\n\r\n", 505, "\"-\"");
  expect_by("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n", 414, "\"-\"");
  expect_by("GET / HTTP/1.1\r\nA: " + std::string(9000, 'a') + "\r\n\r\n", 431, "\"-\"");
  expect_by("GET / HTTP/1.1\r\nA: and then nothing", 408, "\"-\"");
}

}  // namespace
}  // namespace peal
