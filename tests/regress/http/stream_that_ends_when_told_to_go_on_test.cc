// SPDX-License-Identifier: BSD-3-Clause
// A coroutine streamed an answer and waited for writable(). When the client had read more, the coroutine was resumed at
// once, wrote its last piece and ended the exchange. Then the session looked at the exchange's on_writable. If
// exchanges are not kept to be used again, the exchange was already freed.
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/sleep.h>
#include <peal/http/server/http_server.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

class HttpStreamThatEnds : public test::HttpTest {};

TEST_P(HttpStreamThatEnds, when_it_is_resumed_is_not_used_again) {
  constexpr size_t kPiece = 4'000'000;  // more than the kernel takes at once
  Router router;
  router.get("/", [](HttpExchange& exchange) -> Task<> {
    exchange.begin(200);
    exchange.write(std::string(kPiece, '#'));
    EXPECT_TRUE(co_await exchange.writable());
    exchange.write("the end");
  });
  serve(std::move(router), {.pooled = false});
  const std::string answer = answer_to("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_GT(answer.size(), kPiece);
  EXPECT_NE(answer.find("the end"), std::string::npos);
}

// Both are called: first the coroutine is resumed, then on_writable ends the answer.
TEST_P(HttpStreamThatEnds, by_on_writable_takes_no_more_from_its_coroutine) {
  constexpr size_t kPiece = 4'000'000;
  Router router;
  router.get("/", [](HttpExchange& exchange) -> Task<> {
    exchange.begin(200);
    exchange.on_writable([](HttpExchange& here) { here.end(); });
    exchange.write(std::string(kPiece, '#'));
    EXPECT_TRUE(co_await exchange.writable());
    exchange.write("first");
    co_await sleep(std::chrono::milliseconds(5));
    EXPECT_FALSE(exchange.write("too late"));
  });
  serve(std::move(router), {.pooled = false});
  const std::string answer = answer_to("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("5\r\nfirst\r\n0\r\n\r\n")) << answer.substr(answer.size() - 100);
}

PEAL_TEST_ON_EVERY_PORT(HttpStreamThatEnds);

}  // namespace
}  // namespace peal
