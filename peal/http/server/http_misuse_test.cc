// SPDX-License-Identifier: BSD-3-Clause
// Tests handlers that answer twice, or call functions in the wrong order. Only their own exchange is affected.
#include <string>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HttpMisuseTest : public test::HttpTest {
 protected:
  // Returns the answers to two requests of one connection, of which the first goes to `handler`. The second one is
  // answered as usual, unless the connection ends.
  template <class Handler>
  std::string answers(Handler handler) {
    Router router;
    router.get("/", std::move(handler));
    router.get("/next", [](HttpExchange& exchange) { exchange.respond(200, "", "next"); });
    serve(std::move(router));
    return answer_to("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  }
};

TEST_P(HttpMisuseTest, second_answer_is_dropped_and_counted) {
  const std::string both = answers([](HttpExchange& exchange) {
    exchange.respond(200, "", "first");
    exchange.respond(200, "", "second");
    exchange.respond(404);
    exchange.respond(200, "", Buffer("third"));
    exchange.respond(200, "", std::string(100'000, 'x'));
    exchange.begin(200);
    EXPECT_FALSE(exchange.write("fourth"));
    exchange.end();
    exchange.set_field("X-Late", "1");
    exchange.inform(103);
  });
  EXPECT_THAT(both, HasSubstr("first"));
  EXPECT_THAT(both, EndsWith("next"));
  EXPECT_EQ(test::count_of(both, "HTTP/1.1"), 2U);
  EXPECT_THAT(both, Not(HasSubstr("X-Late")));
  EXPECT_EQ(server().stats().answered_again, 9U);
  EXPECT_EQ(server().stats().exceptions, 0U);
}

TEST_P(HttpMisuseTest, second_answer_of_a_coroutine_that_is_still_running_is_dropped) {
  const std::string both = answers([](HttpExchange& exchange) -> Task<> {
    exchange.respond(200, "", "first");
    const Result<void> slept = co_await sleep(std::chrono::milliseconds(1));
    exchange.respond(slept ? 200 : 500, "", "second");
  });
  EXPECT_THAT(both, HasSubstr("first"));
  EXPECT_THAT(both, EndsWith("next"));
  EXPECT_TRUE(wait_until([&] { return server().stats().answered_again == 1; }));
}

TEST_P(HttpMisuseTest, stream_that_goes_on_without_having_begun_is_500) {
  for (const bool writes : {false, true}) {
    const std::string both = answers([writes](HttpExchange& exchange) {
      if (writes) {
        exchange.write("x");
      } else {
        exchange.end();
      }
    });
    EXPECT_THAT(both, StartsWith("HTTP/1.1 500 "));
    EXPECT_THAT(both, EndsWith("next"));
    EXPECT_EQ(server().stats().exceptions, 1U);
  }
}

TEST_P(HttpMisuseTest, what_must_come_before_an_answer_ends_the_connection_once_that_has_begun) {
  const auto begun = [](auto then) {
    return [then](HttpExchange& exchange) {
      exchange.begin(200);
      exchange.write("begun");
      then(exchange);
    };
  };
  const auto expect_end = [&](auto then) {
    EXPECT_THAT(answers(begun(then)), Not(HasSubstr("next")));
    EXPECT_EQ(server().stats().exceptions, 1U);
  };
  expect_end([](HttpExchange& exchange) { exchange.respond(200, "", "again"); });
  expect_end([](HttpExchange& exchange) { exchange.set_field("X", "late"); });
  expect_end([](HttpExchange& exchange) { exchange.set_content_length(3); });
  expect_end([](HttpExchange& exchange) { exchange.begin(200); });
  expect_end([](HttpExchange& exchange) { exchange.inform(103); });
}

TEST_P(HttpMisuseTest, body_that_is_taken_twice_and_a_second_coroutine_are_500) {
  EXPECT_THAT(answers([](HttpExchange& exchange) {
                exchange.handle();
                exchange.read_body([](HttpExchange&, std::string&&) {});
                exchange.read_body([](HttpExchange&, std::string&&) {});
              }),
              StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answers([](HttpExchange& exchange) -> Task<> {
                exchange.run([]() -> Task<> { co_return; }());
                co_return;
              }),
              StartsWith("HTTP/1.1 500 "));
}

TEST_P(HttpMisuseTest, status_alone_is_the_error_page_from_400_on) {
  Router router;
  router.error_page([](HttpExchange& exchange, int status) {
    exchange.respond(status, "text/plain", "page of " + std::to_string(status));
  });
  router.get("/{status}",
             [](HttpExchange& exchange) { exchange.respond(std::stoi(std::string(exchange.parameter("status")))); });
  serve(std::move(router));
  EXPECT_THAT(answer_to("GET", "/404"), EndsWith("\r\n\r\npage of 404"));
  EXPECT_THAT(answer_to("GET", "/nobody/knows"), EndsWith("\r\n\r\npage of 404"));
  EXPECT_THAT(answer_to("GET", "/503"), EndsWith("\r\n\r\npage of 503"));
  EXPECT_THAT(answer_to("GET", "/204"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(answer_to("GET", "/302"), EndsWith("Content-Length: 0\r\nConnection: close\r\n\r\n"));
}

TEST_P(HttpMisuseTest, text_that_is_moved_into_an_answer_arrives) {
  for (const size_t bytes : {0UL, 1UL, 20'480UL, 20'481UL, 5'000'000UL}) {
    serve_get("/", [bytes](HttpExchange& exchange) {
      std::string text(bytes, 'm');
      exchange.respond(200, "text/plain", std::move(text));
    });
    EXPECT_THAT(answer_to("GET", "/"), EndsWith("\r\n\r\n" + std::string(bytes, 'm')));
    EXPECT_EQ(answer_to("HEAD", "/").ends_with("\r\n\r\n"), true);
  }
}

PEAL_TEST_ON_EVERY_PORT(HttpMisuseTest);

}  // namespace
}  // namespace peal
