// SPDX-License-Identifier: BSD-3-Clause
// Defects that other HTTP servers have had. muduo answers one of ten pipelined requests, takes the body of a POST for
// the next request line, and reads 129 MB of a head that never ends. drogon let clients smuggle requests by two
// different lengths. An idle timer that any byte extends keeps a dripping client for ever (slowloris);
// peal/http/server/http_deadlines_test.cc tests this in virtual time.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>

#include <peal/base/memory/memory_budget.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HttpHurts : public test::HttpTest {
 protected:
  void SetUp() override {
    test::HttpTest::SetUp();
    if (IsSkipped()) return;
    Router router;
    router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "page;"); });
    router.get("/secret", [this](HttpExchange& exchange) {
      ++secrets_;
      exchange.respond(200, "text/plain", "secret;");
    });
    router.post("/read", [](HttpExchange& exchange) {
      exchange.read_body([](HttpExchange& read, std::string&& body) { read.respond(200, "text/plain", body); });
    });
    router.post("/unread", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "taken;"); });
    serve(std::move(router));
  }

  int secrets_ = 0;
};

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
// A body that looks like a request.
constexpr std::string_view kBody = "GET /secret HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_P(HttpHurts, ten_pipelined_requests_get_ten_answers) {
  RawPeer one = peer();
  std::string requests;
  for (int i = 0; i < 10; ++i) requests += kGet;
  one.send(requests);
  EXPECT_TRUE(hears(one, "page;", 10));
}

TEST_P(HttpHurts, body_is_never_read_as_a_request) {
  for (const std::string_view path : {"/read", "/unread", "/nowhere"}) {
    RawPeer one = peer();
    one.send("POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(kBody.size()) +
             "\r\n\r\n" + std::string(kBody) + std::string(kGet));
    EXPECT_TRUE(hears(one, "page;")) << path;
    EXPECT_EQ(test::count_of(one.received(), "HTTP/1.1 "), 2U) << one.received();
  }
  EXPECT_EQ(ask([&] { return secrets_; }), 0);
}

TEST_P(HttpHurts, request_with_two_lengths_smuggles_nothing) {
  const std::string head = "POST /read HTTP/1.1\r\nHost: a\r\n";
  const std::string smuggled = "0\r\n\r\n" + std::string(kBody);
  for (const std::string lengths :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 6\r\n", "Content-Length: +5\r\n",
        "Content-Length : 5\r\n", "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n"}) {
    const std::string answer = answer_to(head + lengths + "\r\n" + smuggled);
    EXPECT_THAT(answer, testing::AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.1 501 "))) << lengths;
    EXPECT_THAT(answer, HasSubstr("Connection: close")) << lengths;
    EXPECT_THAT(answer, Not(HasSubstr("secret;"))) << lengths;
  }
  EXPECT_EQ(ask([&] { return secrets_; }), 0);
}

TEST_P(HttpHurts, head_without_end_is_refused_and_holds_little_memory) {
  const uint64_t before = MemoryBudget::held_bytes();
  RawPeer one = peer();
  one.send("GET / HTTP/1.1\r\nHost: a\r\n");
  uint64_t most = before;
  const std::string line = "X-Filler: " + std::string(1000, 'a') + "\r\n";
  ASSERT_TRUE(wait_until([&] {
    one.try_send(line);
    most = std::max(most, MemoryBudget::held_bytes());
    return !one.pump();
  }));
  EXPECT_THAT(one.received(), StartsWith("HTTP/1.1 431 "));
  EXPECT_LT(most - before, 1024U * 1024);
}

PEAL_TEST_ON_EVERY_PORT(HttpHurts);

}  // namespace
}  // namespace peal
