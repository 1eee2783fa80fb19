// SPDX-License-Identifier: BSD-3-Clause
// read_body() answers 413 if a body is longer than the limit. read_all() reported EMSGSIZE to the coroutine instead and
// left the answer to it. If the coroutine just returned, the client got 500, as if the server had failed. There was a
// second defect: if a handler had begun its answer before it called read_body(), such a body stopped the process, and
// any client could send one. Now both answer 413, or end the connection if the answer has begun. The limit of the route
// is the only limit.
#include <string>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::StartsWith;

class BodyLongerThanItsReaderTakes : public test::HttpTest {
 protected:
  static constexpr RouteOptions kLittle{.body_limit_bytes = 1000};

  static std::string post(size_t bytes, bool chunked) {
    const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n";
    const std::string body(bytes, 'b');
    if (!chunked) return head + "Content-Length: " + std::to_string(bytes) + "\r\n\r\n" + body;
    return head + "Transfer-Encoding: chunked\r\n\r\n" + fmt::format("{:x}", bytes) + "\r\n" + body + "\r\n0\r\n\r\n";
  }
};

TEST_P(BodyLongerThanItsReaderTakes, is_413_to_a_coroutine_too) {
  int errors = 0;
  Router router;
  router.post(
      "/",
      [&](HttpExchange& exchange) -> Task<> {
        const Result<std::string> body = co_await exchange.read_all();
        if (body) co_return exchange.respond(200, "", *body);
        errors += body.error() == std::errc::operation_canceled;
        exchange.respond(500, "", "is not sent");
      },
      kLittle);
  serve(std::move(router));
  for (const bool chunked : {false, true}) {
    EXPECT_THAT(answer_to(post(1001, chunked)), StartsWith("HTTP/1.1 413 "));
    EXPECT_THAT(answer_to(post(100'000, chunked)), StartsWith("HTTP/1.1 413 "));
    RawPeer one = peer();
    one.send(post(1000, chunked));
    EXPECT_TRUE(hears(one, std::string(1000, 'b')));
  }
  EXPECT_EQ(ask([&] { return errors; }), 2);  // an announced length is refused before the handler is called
  EXPECT_EQ(server().stats().too_large, 4U);
  EXPECT_EQ(server().stats().answers[5], 0U);
}

TEST_P(BodyLongerThanItsReaderTakes, ends_a_connection_whose_answer_has_begun) {
  Router router;
  router.post(
      "/",
      [](HttpExchange& exchange) {
        exchange.begin(200);
        exchange.write("begun;");
        exchange.read_body([](HttpExchange& read, std::string&&) { read.end(); });
      },
      kLittle);
  serve(std::move(router));
  EXPECT_THAT(answer_to(post(2000, false)), testing::Not(testing::HasSubstr("0\r\n\r\n")));
  RawPeer one = peer();
  one.send(post(1000, false));
  EXPECT_TRUE(hears(one, "0\r\n\r\n"));
}

PEAL_TEST_ON_EVERY_PORT(BodyLongerThanItsReaderTakes);

}  // namespace
}  // namespace peal
