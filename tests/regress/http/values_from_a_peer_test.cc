// SPDX-License-Identifier: BSD-3-Clause
// A handler echoed the client's `Content-Type: text/plain;\tcharset=utf-8`, and this stopped the whole process: a
// content type with a control character was treated as an error of the programmer. So were a status, a field name, a
// length or a protocol that no answer may have, even if a client had caused them. Now a value ends at most the exchange
// that it is for. A value that cannot be sent is made harmless, or is refused by an exception, which becomes a 500.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Mute final : public UpgradeHandler {
 public:
  void on_data(Connection&, Buffer& input) override { input.clear(); }
};

class ValuesFromAPeer : public test::HttpTest {
 protected:
  // Returns what a client receives from a server whose handler does `what`. Expects that the server still answers
  // afterwards.
  std::string after(HttpHandler what,
                    std::string_view request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") {
    Router router;
    router.any("/", std::move(what));
    router.get("/alive", [](HttpExchange& exchange) { exchange.respond(200, "", "alive;"); });
    serve(std::move(router));
    const std::string answer = answer_to(request);
    RawPeer next = peer();
    next.send("GET /alive HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(hears(next, "alive;"));
    return answer;
  }
  void expect_500(HttpHandler what) { EXPECT_THAT(after(std::move(what)), StartsWith("HTTP/1.1 500 ")); }
};

TEST_P(ValuesFromAPeer, content_type_that_is_echoed) {
  const std::string request =
      "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: text/plain;\tcharset=utf-8\r\n\r\n";
  for (const int status : {200, 201}) {
    const std::string answer = after(
        [&](HttpExchange& exchange) { exchange.respond(status, *exchange.request().find("Content-Type"), "text"); },
        request);
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain;\tcharset=utf-8\r\n")) << status;
    EXPECT_THAT(answer, testing::EndsWith("\r\n\r\ntext")) << status;
  }
}

TEST_P(ValuesFromAPeer, content_type_cannot_add_fields) {
  const std::vector<std::function<void(HttpExchange&, std::string_view)>> ways = {
      [](HttpExchange& exchange, std::string_view type) { exchange.respond(200, type, "text"); },
      [](HttpExchange& exchange, std::string_view type) { exchange.respond(404, type, Buffer("text")); },
      [](HttpExchange& exchange, std::string_view type) {
        exchange.begin(200, type);
        exchange.end();
      }};
  // The server builds the last answer of a connection in another way than earlier answers. Both ways are tested.
  for (const std::string ends : {"Connection: close\r\n\r\n", "\r\nGET /x HTTP/1.0\r\n\r\n"}) {
    for (const auto& way : ways) {
      const std::string answer = after([&](HttpExchange& exchange) { way(exchange, "a/b\r\nSet-Cookie: x\n\x7f"); },
                                       "GET / HTTP/1.1\r\nHost: h\r\n" + ends);
      EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: a/b  Set-Cookie: x  \r\n"));
    }
  }
}

TEST_P(ValuesFromAPeer, status_that_no_answer_may_have) {
  for (const int status : {-1, 0, 99, 101, 199, 600, 1000}) {
    expect_500([&](HttpExchange& exchange) { exchange.respond(status, "text/plain", "text"); });
    expect_500([&](HttpExchange& exchange) { exchange.begin(status); });
    expect_500([&](HttpExchange& exchange) { exchange.respond(status); });
    expect_500([&](HttpExchange& exchange) -> Task<> {
      exchange.respond(status, "text/plain", "text");
      co_return;
    });
  }
  for (const int status : {-1, 100, 101, 200}) {
    expect_500([&](HttpExchange& exchange) { exchange.inform(status); });
  }
}

TEST_P(ValuesFromAPeer, field_name_that_no_answer_may_have) {
  for (const std::string name :
       {"", "a b", "a:b", "a\r\nb", "n\xc3\xa4me", "Content-Length", "transfer-encoding", "Connection", "Date"}) {
    const std::string answer = after([&](HttpExchange& exchange) {
      exchange.set_field("Upgrade", "x");  // a field that was set before is not sent with the 500
      exchange.set_field(name, "7");
    });
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 ")) << name;
    EXPECT_THAT(answer, Not(HasSubstr("pgrade"))) << name;
  }
}

TEST_P(ValuesFromAPeer, body_longer_than_announced_ends_the_connection) {
  const std::string answer = after([](HttpExchange& exchange) {
    exchange.set_content_length(3);
    exchange.begin(200);
    exchange.write("ab");
    EXPECT_FALSE(exchange.write("cd"));
    exchange.write("e");
    exchange.end();
  });
  EXPECT_THAT(answer, Not(HasSubstr("cd")));
}

TEST_P(ValuesFromAPeer, protocol_that_no_field_may_contain) {
  expect_500([](HttpExchange& exchange) { exchange.upgrade("a\r\nb", std::make_unique<Mute>()); });
}

TEST_P(ValuesFromAPeer, upgrade_with_a_body_is_400) {
  for (const std::string method : {"POST / ", "CONNECT h:1 "}) {
    Router router;
    router.post("/", [](HttpExchange& exchange) {
      exchange.set_field("Sec-X", "agreed");  // meant for the 101, which is not sent
      exchange.upgrade("x", std::make_unique<Mute>());
    });
    router.add("CONNECT", "/", [](HttpExchange& exchange) { exchange.upgrade("", std::make_unique<Mute>()); });
    serve(std::move(router));
    EXPECT_THAT(answer_to(method + "HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe"),
                testing::AllOf(StartsWith("HTTP/1.1 400 "), testing::Not(testing::HasSubstr("Sec-X"))));
  }
}

// The server has answered 400 in the place of a coroutine that does not know it yet.
TEST_P(ValuesFromAPeer, answer_that_comes_after_the_servers_own) {
  std::string seen;
  Router router;
  router.post("/",
              [&](HttpExchange& exchange) -> Task<> {
                const Result<Buffer> piece = co_await exchange.read();
                seen = piece ? "a piece" : "an error";
                exchange.set_field("A", "b");
                exchange.set_content_length(3);
                exchange.begin(200);
                exchange.write("abcd");
                exchange.end();
                exchange.respond(200);
              },
              {.body_limit_bytes = 1000});
  serve(std::move(router));
  const std::string answer = answer_to("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(test::count_of(answer, "HTTP/1.1 "), 1U);
  EXPECT_EQ(ask([&] { return seen; }), "an error");
}

// An answer was given elsewhere, so the server has begun to drop the body. A coroutine that reads the body does not
// wait.
TEST_P(ValuesFromAPeer, body_that_is_read_after_the_answer_was_given_elsewhere) {
  HttpExchangeHandle handle;
  std::string seen;
  Router router;
  router.post("/", [&](HttpExchange& exchange) -> Task<> {
    handle = exchange.handle();
    while (const Result<Buffer> piece = co_await exchange.read()) {
      if (piece->empty()) break;
    }
    seen = "over";
  });
  serve(std::move(router));
  RawPeer one = peer();
  one.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\nabc");
  ASSERT_TRUE(wait_until([&] { return server().stats().request_body_bytes == 3; }));
  handle.respond(200, "text/plain", "enough;");
  EXPECT_TRUE(hears(one, "enough;"));
  EXPECT_TRUE(wait_until([&] { return seen == "over"; }));
}

PEAL_TEST_ON_EVERY_PORT(ValuesFromAPeer);

}  // namespace
}  // namespace peal
