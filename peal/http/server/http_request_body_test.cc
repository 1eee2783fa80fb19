// SPDX-License-Identifier: BSD-3-Clause
// Tests the bodies of requests: their receivers, and what happens to a body without a receiver.
#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/http/server/http_server.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kChunked =
    "POST /{} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";

class HttpRequestBodyTest : public test::HttpTest {
 protected:
  Router routes() {
    Router router;
    router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "", "plain"); });
    router.post("/pieces", [this](HttpExchange& exchange) {
      heard_.clear();
      exchange.on_body([this](HttpExchange&, std::string_view piece) { heard_ += piece; },
                       [this](HttpExchange& read) { read.respond(200, "", "pieces:" + heard_); });
    });
    router.post(
        "/whole",
        [](HttpExchange& exchange) {
          exchange.read_body([](HttpExchange& read, std::string&& body) { read.respond(200, "", "whole:" + body); });
        },
        {.body_limit_bytes = 20});
    router.post("/task", [](HttpExchange& exchange) -> Task<> {
      const Result<std::string> body = co_await exchange.read_all();
      exchange.respond(200, "", body ? "task:" + *body : body.error().message());
    });
    router.post("/slowly", [](HttpExchange& exchange) -> Task<> {
      co_await sleep(std::chrono::milliseconds(5));
      size_t bytes = 0;
      for (;;) {
        const Result<Buffer> piece = co_await exchange.read();
        if (!piece || piece->empty()) break;
        bytes += piece->size();
        co_await sleep(std::chrono::milliseconds(1));
      }
      exchange.respond(200, "", fmt::format("slowly:{}", bytes));
    });
    router.post("/ignored", [](HttpExchange& exchange) { exchange.respond(200, "", "ignored"); });
    router.post("/echo", [](HttpExchange& exchange) -> Task<> {
      exchange.begin(200, "");
      for (;;) {
        const Result<Buffer> piece = co_await exchange.read();
        if (!piece || piece->empty()) break;
        exchange.write(piece->to_string());
      }
      exchange.end();
    });
    router.post("/first", [](HttpExchange& exchange) {
      exchange.on_body([](HttpExchange& read, std::string_view) { read.respond(200, "", "enough"); },
                       [](HttpExchange&) {});
    });
    router.post("/short", [](HttpExchange& exchange) { exchange.respond(200, "", "short"); }, {.body_limit_bytes = 4});
    router.post("/later", left_unanswered());
    return router;
  }
  static std::string post(std::string_view path, std::string_view body, std::string_view fields = {}) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n{}\r\n{}", path, body.size(), fields,
                       body);
  }
  static constexpr std::string_view kLast = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

  std::string heard_;
};

TEST_P(HttpRequestBodyTest, body_reaches_whoever_takes_it_however_it_was_framed_and_split) {
  serve(routes());
  for (const std::string path : {"pieces", "whole", "task"}) {
    const std::string length = post("/" + path, "hello world");
    std::string chunked(kChunked);
    chunked.replace(chunked.find("{}"), 2, path);
    EXPECT_THAT(answer_to(length + chunked + std::string(kLast)),
                testing::AllOf(HasSubstr(path + ":hello world"), EndsWith("plain")));
    RawPeer dripping = peer();
    for (const char byte : chunked) {
      dripping.send(std::string_view(&byte, 1));
      ask([] {});
    }
    ASSERT_TRUE(hears(dripping, path + ":hello world")) << path;
  }
}

TEST_P(HttpRequestBodyTest, request_without_a_body_is_an_empty_one) {
  serve(routes());
  for (const std::string path : {"pieces", "whole", "task"}) {
    EXPECT_THAT(answer_to(post("/" + path, "") + std::string(kLast)), HasSubstr(path + ":HTTP/1.1"));
  }
}

TEST_P(HttpRequestBodyTest, body_that_nobody_reads_is_never_taken_for_the_next_request) {
  serve(routes());
  const std::string trap = "GET /trap HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const std::string_view path : {"/ignored", "/nowhere"}) {
    const std::string answers = answer_to(post(path, trap) + std::string(kLast));
    EXPECT_EQ(test::count_of(answers, "HTTP/1.1 "), 2u) << answers;
    EXPECT_THAT(answers, EndsWith("plain"));
  }
}

TEST_P(HttpRequestBodyTest, body_too_long_to_be_dropped_ends_the_connection_and_the_answer_says_so) {
  serve(routes(), {.drain_limit_bytes = 1000});
  const std::string answers = answer_to(post("/ignored", std::string(1001, 'x')) + std::string(kLast));
  EXPECT_THAT(answers, HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(test::count_of(answers, "HTTP/1.1 "), 1u);
  EXPECT_THAT(answer_to(post("/ignored", std::string(1000, 'x')) + std::string(kLast)), EndsWith("plain"));
  std::string chunked(kChunked);
  chunked.replace(chunked.find("{}"), 2, "ignored");
  EXPECT_THAT(answer_to(chunked + std::string(kLast)), EndsWith("plain")) << "nobody knows that it would be long";
}

// The client must not send another request on a connection that will be closed (RFC 9112 9.6).
TEST_P(HttpRequestBodyTest, so_does_one_that_is_answered_when_a_part_has_been_read) {
  serve(routes(), {.drain_limit_bytes = 1000});
  for (const size_t left : {1000u, 1001u}) {
    RawPeer one =
        peer_sending(fmt::format("POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\nfirst", 5 + left));
    ASSERT_TRUE(hears(one, "enough"));
    EXPECT_EQ(one.received().find("Connection: close") != std::string_view::npos, left > 1000) << left;
    if (left > 1000) continue;
    one.send(std::string(left, 'x') + std::string(kLast));
    EXPECT_TRUE(hears(one, "plain"));
  }
}

TEST_P(HttpRequestBodyTest, body_beyond_its_limit_is_413_announced_or_not) {
  serve(routes());
  EXPECT_THAT(answer_to(post("/short", "12345") + std::string(kLast)),
              testing::AllOf(StartsWith("HTTP/1.1 413 "), EndsWith("plain")));
  EXPECT_THAT(answer_to(post("/short", "1234") + std::string(kLast)), HasSubstr("short"));
  std::string chunked(kChunked);
  chunked.replace(chunked.find("{}"), 2, "whole");
  chunked.replace(chunked.find("6\r\n world"), 9, "20\r\n" + std::string(32, 'w'));
  EXPECT_THAT(answer_to(chunked), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer_to("POST /pieces HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(server().stats().too_large, 3u);
}

TEST_P(HttpRequestBodyTest, hundred_continue_is_said_when_the_body_is_wanted) {
  serve(routes());
  const std::string head = "POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
  for (const std::string path : {"pieces", "whole", "task"}) {
    RawPeer one = peer_sending(fmt::format(fmt::runtime(head), path));
    ASSERT_TRUE(hears(one, "HTTP/1.1 100 Continue\r\n\r\n"));
    EXPECT_THAT(one.received(), Not(HasSubstr("200")));
    one.send("hello");
    ASSERT_TRUE(hears(one, path + ":hello"));
  }
}

// The body may be read while the answer is sent. After the head of the answer, the client would not notice 100
// (Continue).
TEST_P(HttpRequestBodyTest, hundred_continue_is_said_before_an_answer_in_pieces) {
  serve(routes());
  RawPeer one = peer_sending("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(hears(one, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 "));
  one.send("hello" + std::string(kLast));
  ASSERT_TRUE(hears(one, "plain"));
  EXPECT_THAT(one.received(), testing::AllOf(HasSubstr("hello"), Not(HasSubstr("100 Continue\r\n\r\nHTTP/1.1 100"))));
}

TEST_P(HttpRequestBodyTest, hundred_continue_is_not_said_to_who_is_refused_or_has_begun_to_send) {
  serve(routes());
  EXPECT_THAT(answer_to("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("Connection: close\r\n")));
  EXPECT_THAT(answer_to("POST /whole HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 200 "));
}

TEST_P(HttpRequestBodyTest, body_waits_with_the_client_until_somebody_wants_it) {
  serve(routes());
  RawPeer one = peer_sending(post("/later", "hello") + std::string(kLast));
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1; }));
  unanswered[0].run([](HttpExchange& exchange) {
    exchange.read_body([](HttpExchange& read, std::string&& body) { read.respond(200, "", "later:" + body); });
  });
  const std::string answers = all_of(one);
  EXPECT_THAT(answers, testing::AllOf(HasSubstr("later:hello"), EndsWith("plain")));
}

TEST_P(HttpRequestBodyTest, large_upload_is_slowed_down_to_the_pace_of_a_coroutine_that_reads_it) {
  HttpServerOptions options;
  options.limits.body_bytes = 10'000'000;
  serve(routes(), options);
  RawPeer one = peer();
  const std::string request = post("/slowly", std::string(5'000'000, 'u'));
  size_t sent = 0;
  ASSERT_TRUE(wait_until([&] {
    sent += one.try_send(std::string_view(request).substr(sent));
    one.pump();
    return one.received().find("slowly:5000000") != std::string::npos;
  })) << one.received();
  EXPECT_LT(ask([&] { return BlockPool::here().stats().bytes_in_use; }), 4'000'000u);
}

TEST_P(HttpRequestBodyTest, paused_body_goes_on_when_it_is_resumed_also_at_its_end) {
  Router router = routes();
  std::string heard;
  router.put("/", [&](HttpExchange& exchange) {
    exchange.on_body(
        [&](HttpExchange& read, std::string_view piece) {
          heard += piece;
          read.pause_body();
          unanswered.push_back(read.handle());
        },
        [&](HttpExchange& read) { read.respond(200, "", "put:" + heard); });
  });
  serve(std::move(router));
  RawPeer one = peer_sending("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nfour");
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1; }));
  one.send("more");
  unanswered[0].run([](HttpExchange& exchange) { exchange.resume_body(); });
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 2; }));
  EXPECT_EQ(one.received(), "");
  unanswered[1].run([](HttpExchange& exchange) { exchange.resume_body(); });
  ASSERT_TRUE(hears(one, "put:fourmore"));
}

TEST_P(HttpRequestBodyTest, body_cut_short_is_answered_400) {
  serve(routes());
  RawPeer one = peer_sending("POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
  one.fin();
  EXPECT_THAT(all_of(one), StartsWith("HTTP/1.1 400 "));
}

PEAL_TEST_ON_EVERY_PORT(HttpRequestBodyTest);

}  // namespace
}  // namespace peal
