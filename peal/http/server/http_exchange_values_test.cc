// SPDX-License-Identifier: BSD-3-Clause
// Tests the query and the cookies of a request, and the cookies that handlers set.
#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class HttpExchangeValuesTest : public test::HttpTest {
 protected:
  // Serves one request with `handler`.
  std::string answer_of(HttpHandler handler, std::string_view target, std::string_view fields = {}) {
    serve(Router(std::move(handler)));
    std::string answer = answer_to("GET", target, fields);
    end_server();
    return answer;
  }
};

TEST_P(HttpExchangeValuesTest, query_is_decoded_and_all_its_views_stay_good) {
  for (const std::string_view target : {"/?ttl=60&tag=a&tag=b&empty=&flag&x=1.5&on=1&bad=6o",
                                        "/?t%74l=60&tag=%61&tag=b&empty=&flag&x=1%2e5&on=1&bad=6o"}) {
    const auto handler = [](HttpExchange& exchange) {
      const auto ttl = exchange.query("ttl");
      const auto tags = exchange.query_all("tag");
      const auto empty = exchange.query("empty");
      EXPECT_EQ(exchange.query("flag"), "");
      EXPECT_EQ(exchange.query<uint32_t>("ttl"), 60U);
      EXPECT_EQ(exchange.query<int8_t>("none").value_or(7), 7);
      EXPECT_EQ(exchange.query<int>("bad"), std::nullopt);
      EXPECT_EQ(exchange.query<double>("x"), 1.5);
      EXPECT_EQ(exchange.query<bool>("on"), true);
      EXPECT_EQ(exchange.query("TTL"), std::nullopt);
      EXPECT_THAT(exchange.query_all("none"), IsEmpty());
      EXPECT_EQ(ttl, "60");
      EXPECT_THAT(tags, ElementsAre("a", "b"));
      EXPECT_EQ(empty, "");
      exchange.respond(200, "", "asked");
    };
    EXPECT_THAT(answer_of(handler, target), EndsWith("asked"));
  }
}

TEST_P(HttpExchangeValuesTest, a_query_is_not_the_next_requests) {
  serve_get("/", [](HttpExchange& exchange) {
    exchange.respond(200, "", fmt::format("[{}]", exchange.query("a").value_or("none")));
  });
  EXPECT_THAT(answer_to("GET /?a=%31 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"
                        "GET /?a=%32 HTTP/1.1\r\nHost: a\r\n\r\n"
                        "GET /?a=3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
              testing::ContainsRegex("\\[1\\](.|\n)*\\[none\\](.|\n)*\\[2\\](.|\n)*\\[3\\]"));
}

TEST_P(HttpExchangeValuesTest, views_last_as_long_as_a_coroutine) {
  const auto handler = [](HttpExchange& exchange) -> Task<> {
    const auto value = exchange.query("a");
    const auto session = exchange.cookie("session");
    co_await sleep(std::chrono::milliseconds(1));
    exchange.query("b");
    exchange.respond(200, "", fmt::format("{}{}", value.value(), session.value()));
  };
  EXPECT_THAT(answer_of(handler, "/?a=%20x&b=%20y", "Cookie: session=s1\r\n"), EndsWith(" xs1"));
}

TEST_P(HttpExchangeValuesTest, cookies_are_found_on_any_line) {
  const auto handler = [](HttpExchange& exchange) {
    EXPECT_EQ(exchange.cookie("a"), "1");
    EXPECT_EQ(exchange.cookie("b"), "\"2\"");
    EXPECT_EQ(exchange.cookie("c"), "");
    EXPECT_EQ(exchange.cookie("d"), std::nullopt);
    exchange.respond(200, "", "asked");
  };
  EXPECT_THAT(answer_of(handler, "/", "Cookie: a=1; b=\"2\"\r\ncookie: a=3; c=\r\n"), EndsWith("asked"));
}

TEST_P(HttpExchangeValuesTest, cookies_are_set_and_deleted) {
  const auto handler = [](HttpExchange& exchange) {
    exchange.set_cookie({.name = "a", .value = "1", .max_age_seconds = 60});
    exchange.set_cookie({.name = "b", .value = "2"});
    exchange.delete_cookie("c", "/shop");
    EXPECT_THROW(exchange.set_cookie({.name = "d", .value = "x\r\nY: z"}), std::invalid_argument);
    EXPECT_THROW(exchange.set_cookie({.name = "__Host-d", .value = "x"}), std::invalid_argument);
    exchange.respond(200);
  };
  const std::string answer = answer_of(handler, "/");
  EXPECT_THAT(answer, HasSubstr("\r\nSet-Cookie: a=1; Path=/; Max-Age=60; HttpOnly; SameSite=Lax\r\n"
                                "Set-Cookie: b=2; Path=/; HttpOnly; SameSite=Lax\r\n"
                                "Set-Cookie: c=; Path=/shop; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; "
                                "HttpOnly; SameSite=Lax\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("Y: z")));
}

TEST_P(HttpExchangeValuesTest, a_clients_text_in_a_cookie_is_a_500_and_no_more) {
  const auto handler = [](HttpExchange& exchange) {
    exchange.set_cookie({.name = "theme", .value = std::string(exchange.query("theme").value_or(""))});
    exchange.respond(200);
  };
  const std::string answer = answer_of(handler, "/?theme=x%0d%0aSet-Cookie:%20admin=1");
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, Not(HasSubstr("admin")));
}

PEAL_TEST_ON_EVERY_PORT(HttpExchangeValuesTest);

}  // namespace
}  // namespace peal
