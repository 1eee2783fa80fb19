// SPDX-License-Identifier: BSD-3-Clause
// A handler sent an interim answer 103 and then threw. The 103 had taken the answer's fields with it, but the server
// still remembered how many bytes of them came from middleware. So it filled the head of the 500 up to that length. It
// filled with 48 NUL bytes, or with a field that was cut off in the middle and followed by "Content-Length: 90". That
// answer had no length, and the next answer became its body. In a similar way, the server named an Upgrade field in
// `Connection` although the field had left with the 103.
//
// Now the fields and this count are one object (answer_fields.h). An answer that the server gives in a handler's place
// has none of the handler's fields.
#include <stdexcept>
#include <string>
#include <string_view>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class AnswerAfterAnInterimOne : public test::HttpTest {
 protected:
  // Returns the answer of `handler`, behind middleware that sets one field, and the answer to a request that is
  // pipelined after it.
  std::string answers(HttpHandler handler, std::string_view fields = {}, std::string_view body = {}) {
    Router router;
    router.use([](HttpExchange& exchange, HttpNext next) {
      exchange.set_field("X-Request-Id", "0123456789abcdef0123456789abcdef");
      next(exchange);
    });
    router.any("/", std::move(handler), {.body_limit_bytes = 4});
    router.get("/next", [](HttpExchange& exchange) { exchange.respond(200, "", "next"); });
    serve(std::move(router));
    return answer_to(
        fmt::format("POST / HTTP/1.1\r\nHost: a\r\n{}\r\n{}"
                    "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                    fields, body));
  }
  static constexpr std::string_view kId = "X-Request-Id: 0123456789abcdef0123456789abcdef\r\n";
  static constexpr std::string_view kNext =
      "HTTP/1.1 200 OK\r\nDate: now\r\nX-Request-Id: 0123456789abcdef0123456789abcdef\r\nContent-Length: 4\r\n"
      "Connection: close\r\n\r\nnext";
  static std::string page_500(std::string_view connection = {}) {
    return fmt::format(
        "HTTP/1.1 500 Internal Server Error\r\nDate: now\r\nContent-Type: text/html; charset=utf-8\r\n{}"
        "Content-Length: 90\r\n{}\r\n"
        "<!doctype html><title>500 Internal Server Error</title><h1>500 Internal Server Error</h1>\n",
        kId, connection);
  }
};

TEST_P(AnswerAfterAnInterimOne, exception_after_fewer_fields_than_middleware_set) {
  EXPECT_EQ(answers([](HttpExchange& exchange) {
              exchange.inform(102);
              throw std::runtime_error("after the 102");
            }),
            "HTTP/1.1 102 Processing\r\n\r\n" + page_500() + std::string(kNext));
}

TEST_P(AnswerAfterAnInterimOne, exception_after_more_fields_than_middleware_set) {
  EXPECT_EQ(answers([](HttpExchange& exchange) {
              exchange.set_field("Link", "</style.css>");
              exchange.inform(103);
              exchange.set_field("X-Long", std::string(200, 'a'));
              throw std::runtime_error("after the 103");
            }),
            "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" + page_500() + std::string(kNext));
}

TEST_P(AnswerAfterAnInterimOne, fields_of_middleware_wait_for_the_final_answer) {
  EXPECT_EQ(answers([](HttpExchange& exchange) {
              exchange.set_field("Link", "</style.css>");
              exchange.inform(103);
              exchange.set_field("ETag", "\"1\"");
              exchange.respond(200, "", "page");
            }),
            "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 200 OK\r\nDate: now\r\n" +
                std::string(kId) + "ETag: \"1\"\r\nContent-Length: 4\r\n\r\npage" + std::string(kNext));
}

TEST_P(AnswerAfterAnInterimOne, upgrade_sent_with_the_interim_answer_is_not_named_in_the_final_one) {
  EXPECT_EQ(answers([](HttpExchange& exchange) {
              exchange.set_field("Upgrade", "h2c");
              exchange.inform(103);
              exchange.respond(200, "", "page");
            }),
            "HTTP/1.1 103 Early Hints\r\nUpgrade: h2c\r\n\r\nHTTP/1.1 200 OK\r\nDate: now\r\n" + std::string(kId) +
                "Content-Length: 4\r\n\r\npage" + std::string(kNext));
}

TEST_P(AnswerAfterAnInterimOne, upgrade_that_middleware_offers_is_named_in_the_final_answer) {
  Router router;
  router.use([](HttpExchange& exchange, HttpNext next) {
    exchange.set_field("Upgrade", "h2c");
    next(exchange);
  });
  router.get("/", [](HttpExchange& exchange) {
    exchange.inform(102);
    throw std::runtime_error("after the 102");
  });
  serve(std::move(router));
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
              testing::AllOf(HasSubstr("HTTP/1.1 500 "), HasSubstr("\r\nUpgrade: h2c\r\n"),
                             HasSubstr("\r\nConnection: Upgrade, close\r\n")));
}

// The handler has set how its answer is coded, how long it is and how long it may be cached.
TEST_P(AnswerAfterAnInterimOne, answer_in_the_handlers_place_has_none_of_its_fields) {
  const auto says_much = [](HttpExchange& exchange) {
    exchange.set_field("Content-Encoding", "gzip");
    exchange.set_field("Cache-Control", "max-age=3600");
    exchange.set_content_length(7);
  };
  EXPECT_EQ(answers([&](HttpExchange& exchange) -> Task<> {
              says_much(exchange);
              co_return;  // returns without an answer
            }),
            page_500() + std::string(kNext));
  EXPECT_THAT(
      answers(
          [&](HttpExchange& exchange) {
            says_much(exchange);
            exchange.read_body([](HttpExchange& read, std::string&&) { read.respond(200); });
          },
          "Transfer-Encoding: chunked\r\n", "5\r\n12345\r\n0\r\n\r\n"),
      testing::AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr(kId), Not(HasSubstr("gzip")), Not(HasSubstr("max-age"))));
}

// An error page may be a stream. Its length is not the length that the handler has set for its own answer.
TEST_P(AnswerAfterAnInterimOne, error_page_does_not_get_the_length_of_the_handlers_answer) {
  Router router;
  router.error_page([](HttpExchange& exchange, int status) {
    exchange.begin(status, "text/plain");
    exchange.write("what went wrong");
    exchange.end();
  });
  router.get("/", [](HttpExchange& exchange) {
    exchange.set_content_length(4);
    throw std::runtime_error("before the body");
  });
  serve(std::move(router));
  const std::string answer = answer_to("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, testing::AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("Transfer-Encoding: chunked\r\n"),
                                     EndsWith("f\r\nwhat went wrong\r\n0\r\n\r\n")));
}

PEAL_TEST_ON_EVERY_PORT(AnswerAfterAnInterimOne);

}  // namespace
}  // namespace peal
