// SPDX-License-Identifier: BSD-3-Clause
// CONNECT asks for a tunnel. After a 2xx answer to it, nothing on the connection is HTTP any more, and the head of this
// answer has neither Content-Length nor Transfer-Encoding (RFC 9110 8.6, 9.3.6). A catch-all handler that answered
// every request with 200 and a page answered CONNECT in the same way, with length and body. Then the server served the
// next request on the connection. A proxy in front believes the 2xx and joins its client to this connection. The
// client's requests then reach the server past the rules of the proxy.
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kConnect = "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n";
const std::string kSmuggled = "GET /secret HTTP/1.1\r\nHost: h\r\n\r\n";

class ConnectEndsHttp : public test::HttpTest {
 protected:
  void greet(HttpExchange& exchange) {
    if (exchange.request().path() == "/secret") ++secrets_;
    exchange.respond(200, "text/plain", "hello;");
  }
  HttpHandler greeter() {
    return [this](HttpExchange& exchange) { greet(exchange); };
  }
  void expect_that_connect_is_not_implemented() {
    const std::string answer = answer_to(kConnect + kSmuggled);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 501 "));
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
    EXPECT_EQ(test::count_of(answer, "HTTP/1.1 "), 1U) << answer;
    EXPECT_EQ(ask([&] { return secrets_; }), 0);
  }

  int secrets_ = 0;
};

TEST_P(ConnectEndsHttp, catch_all_handler_does_not_get_it) {
  serve(Router(greeter()));
  expect_that_connect_is_not_implemented();
}

TEST_P(ConnectEndsHttp, route_of_any_method_does_not_get_it) {
  Router router;
  router.any("/", greeter());
  router.get("/secret", greeter());
  serve(std::move(router));
  expect_that_connect_is_not_implemented();
}

// Each way in which a handler may answer that does not know the method of its request.
TEST_P(ConnectEndsHttp, every_2xx_has_neither_length_nor_body_and_is_the_last_answer) {
  const std::vector<std::function<void(HttpExchange&)>> ways = {
      [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "page"); },
      [](HttpExchange& exchange) { exchange.respond(299, "", std::string(100'000, 'l')); },
      [](HttpExchange& exchange) { exchange.respond(200, "", Buffer("page")); },
      [](HttpExchange& exchange) {
        exchange.begin(200);
        exchange.write("page");
        exchange.end();
      },
      [](HttpExchange& exchange) {
        exchange.set_content_length(4);
        exchange.begin(200);
        exchange.write("page");
        exchange.end();
      },
  };
  size_t way = 0;
  Router router;
  router.add("CONNECT", "/", [&](HttpExchange& exchange) { ways[way](exchange); });
  router.get("/secret", greeter());
  serve(std::move(router));
  for (; way < ways.size(); ++way) {
    const std::string answer = answer_to(kConnect + kSmuggled);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 2")) << way;
    EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n")) << way;
    EXPECT_THAT(answer, Not(HasSubstr("Content-Length"))) << way;
    EXPECT_THAT(answer, Not(HasSubstr("Transfer-Encoding"))) << way;
    EXPECT_EQ(test::count_of(answer, "\r\n\r\n"), 1U) << way;
  }
  EXPECT_EQ(ask([&] { return secrets_; }), 0);
}

TEST_P(ConnectEndsHttp, refusal_may_have_a_body_and_is_the_last_answer) {
  Router router;
  router.add("CONNECT", "/", [](HttpExchange& exchange) { exchange.respond(403, "text/plain", "no;"); });
  router.get("/secret", greeter());
  serve(std::move(router));
  const std::string answer = answer_to(kConnect + kSmuggled);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("no;"));
  EXPECT_EQ(ask([&] { return secrets_; }), 0);
}

class Repeater final : public UpgradeHandler {
 public:
  void on_data(Connection& connection, Buffer& input) override { connection.send(std::move(input)); }
};

TEST_P(ConnectEndsHttp, tunnel_belongs_to_the_handler_added_for_connect) {
  Router router;
  router.any("/{path*}", greeter());
  router.add("CONNECT", "/", [](HttpExchange& exchange) { exchange.upgrade("", std::make_unique<Repeater>()); });
  serve(std::move(router));
  RawPeer one = peer();
  one.send(kConnect + kSmuggled);
  EXPECT_TRUE(hears(one, kSmuggled));
  EXPECT_THAT(one.received(), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(one.received(), Not(HasSubstr("Content-Length")));
  EXPECT_EQ(ask([&] { return secrets_; }), 0);
}

PEAL_TEST_ON_EVERY_PORT(ConnectEndsHttp);

}  // namespace
}  // namespace peal
