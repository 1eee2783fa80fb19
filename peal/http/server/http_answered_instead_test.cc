// SPDX-License-Identifier: BSD-3-Clause
// Tests the answers that the server gives in the place of a handler that was already called. No state of the request
// remains for the next one.
#include <stdexcept>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HttpAnsweredInstead : public test::HttpTest {
 protected:
  // Each kind of handler waits for a body that never arrives whole, and notes its on_abandoned.
  Router patient_routes() {
    Router router;
    router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "", "plain"); });
    router.post("/takes", [this](HttpExchange& exchange) {
      remember(exchange);
      exchange.on_body([](HttpExchange&, std::string_view) {}, [](HttpExchange&) {});
    });
    for (const auto& [path, limit_bytes] : {std::pair("/whole", 0U), std::pair("/little", 20U)}) {
      router.post(path,
                  [this](HttpExchange& exchange) {
                    remember(exchange);
                    exchange.read_body([](HttpExchange&, const std::string&) {});
                  },
                  {.body_limit_bytes = limit_bytes});
    }
    router.post("/throws", [this](HttpExchange& exchange) {
      remember(exchange);
      exchange.on_body([](HttpExchange&, std::string_view) { throw std::runtime_error("a piece"); },
                       [](HttpExchange&) {});
    });
    router.post("/reads", [this](HttpExchange& exchange) -> Task<> {
      const Ended ended(told_);
      const Result<std::string> body = co_await exchange.read_all();
      EXPECT_FALSE(body);
      EXPECT_TRUE(exchange.abandoned());
      exchange.respond(200, "", "to nobody");
    });
    return router;
  }
  struct Ended {
    explicit Ended(int& count) : ended(count) {}
    ~Ended() { ++ended; }
    int& ended;
  };

  void remember(HttpExchange& exchange) {
    exchange.on_abandoned([this](HttpExchange& lost) {
      EXPECT_TRUE(lost.abandoned());
      lost.respond(200, "", "to nobody");
      ++told_;
    });
  }
  // Returns the answer to an invalid body. The handler has been abandoned by then, and other requests are served.
  std::string answer_to_fault(std::string_view path, std::string_view rest, bool fin) {
    const int before = ask([&] { return told_; });
    RawPeer one = peer_sending("POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(rest));
    if (fin) one.fin();
    EXPECT_TRUE(ends(one));
    EXPECT_TRUE(wait_until([&] { return told_ == before + 1; })) << path << one.received();
    RawPeer next = peer_sending("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(hears(next, "plain"));
    EXPECT_THAT(next.received(), Not(HasSubstr("nobody")));
    return one.received();
  }

  int told_ = 0;
};

TEST_P(HttpAnsweredInstead, handler_is_told_of_a_body_that_is_cut_short) {
  serve(patient_routes());
  for (const std::string_view path : {"/takes", "/whole", "/reads"}) {
    EXPECT_THAT(answer_to_fault(path, "Content-Length: 100\r\n\r\nabc", true), StartsWith("HTTP/1.1 400 ")) << path;
  }
}

TEST_P(HttpAnsweredInstead, handler_is_told_of_a_body_that_is_malformed_or_too_long) {
  HttpServerOptions options;
  options.limits.body_bytes = 50;
  serve(patient_routes(), options);
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
  for (const std::string_view path : {"/takes", "/whole", "/reads"}) {
    EXPECT_THAT(answer_to_fault(path, chunked + "ZZ\r\n", false), StartsWith("HTTP/1.1 400 ")) << path;
    EXPECT_THAT(answer_to_fault(path, chunked + "40\r\n" + std::string(64, 'x') + "\r\n0\r\n\r\n", false),
                StartsWith("HTTP/1.1 413 "))
        << path;
  }
  EXPECT_THAT(answer_to_fault("/little", "Transfer-Encoding: chunked\r\n\r\n15\r\n" + std::string(21, 'x'), false),
              StartsWith("HTTP/1.1 413 "));
}

TEST_P(HttpAnsweredInstead, handler_is_told_when_a_callback_of_its_own_throws) {
  serve(patient_routes());
  EXPECT_THAT(answer_to_fault("/throws", "Connection: close\r\nContent-Length: 3\r\n\r\nabc", false),
              StartsWith("HTTP/1.1 500 "));
}

TEST_P(HttpAnsweredInstead, empty_lines_of_one_connection_are_not_counted_for_the_next) {
  serve(patient_routes());
  for (int i = 0; i < 3; ++i) {
    RawPeer lines = peer_sending("\r\n\r\n");
    ask([] {});
    lines.fin();
    EXPECT_TRUE(ends(lines));
    RawPeer next = peer_sending("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(hears(next, "plain"));
  }
}

TEST_P(HttpAnsweredInstead, answer_without_a_type_has_its_head_after_an_error_too) {
  serve(patient_routes());
  RawPeer one = peer_sending("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(hears(one, "plain"));
  EXPECT_THAT(one.received(), HasSubstr("</h1>\nHTTP/1.1 200 OK\r\n"));
}

TEST_P(HttpAnsweredInstead, dates_of_errors_and_of_answers_go_on_together) {
  serve(patient_routes());
  const auto date_of = [&](std::string_view target) {
    RawPeer one = peer_sending("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(hears(one, "\r\n\r\n"));
    const size_t at = one.received().find("Date: ");
    return one.received().substr(at, 35);
  };
  const std::string first = date_of("/");
  std::string later = first;
  while (later == first && !HasFailure()) later = date_of("/nowhere");
  EXPECT_NE(date_of("/"), first);
}

PEAL_TEST_ON_EVERY_PORT(HttpAnsweredInstead);

}  // namespace
}  // namespace peal
