// SPDX-License-Identifier: BSD-3-Clause
// HttpClient as coroutines use it.
#include <peal/http/client/http_client_stream.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::http_ok;
using test::HttpScript;

class HttpClientStreamTest : public test::HttpClientTest {
 protected:
  // Runs the loop until the task has ended.
  void run(Task<> task) {
    Scope scope(loop());
    scope.spawn(std::move(task));
    EXPECT_TRUE(run_until([&] { return scope.size() == 0; }));
  }
  static std::error_code error_of(const auto& result) { return result ? std::error_code() : result.error(); }
  // Reads the whole body of a stream, and returns it or the error.
  static Task<Result<std::string>> read_all(HttpClientStream& stream) {
    std::string all;
    for (;;) {
      auto piece = co_await stream.read();
      if (!piece) co_return std::unexpected(piece.error());
      if (piece->empty()) co_return all;
      all += piece->to_string();
    }
  }
};

TEST_P(HttpClientStreamTest, whole_answers_one_after_the_other) {
  HttpScript& server =
      serve([](Connection& connection, const Request& request) { connection.send(http_ok(request.what())); });
  auto test = [&]() -> Task<> {
    for (const char* path : {"/1", "/2", "/3"}) {
      const HttpClientRequest request(server.url(path));
      const auto answer = co_await client().fetch(request);
      EXPECT_EQ(answer.value().body, std::string("GET ") + path);
    }
    EXPECT_EQ(error_of(co_await client().fetch(HttpClientRequest("nonsense"))), HttpTrouble::kBadUrl);
    EXPECT_EQ(error_of(co_await client().fetch(HttpClientRequest("http://a_b..c/"))),
              std::error_code(Trouble::kBadAddress));
  };
  run(test());
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpClientStreamTest, a_deadline_closes_the_connection) {
  HttpScript& server = serve(nullptr);
  auto test = [&]() -> Task<> {
    const HttpClientRequest request(server.url());
    EXPECT_EQ(error_of(co_await client().fetch(request).within(milliseconds(10))), errno_code(ETIMEDOUT));
    EXPECT_EQ(client().stats().connections, 0u);
    HttpClientStream stream = client().open(request);
    EXPECT_EQ(error_of(co_await stream.head().within(milliseconds(5))), errno_code(ETIMEDOUT));
    EXPECT_EQ(error_of(co_await stream.read().within(milliseconds(5))), errno_code(ETIMEDOUT));
    EXPECT_EQ(client().stats().connections, 1u) << "a wait that ends is not the end of the stream";
  };
  run(test());
  EXPECT_EQ(client().stats().connections, 0u);
  ASSERT_TRUE(run_until([&] { return server.open() == 0; }));
}

TEST_P(HttpClientStreamTest, cancelling_a_scope_leaves_nothing_behind) {
  client_options.most_per_origin = 2;
  HttpScript& server = serve(nullptr);
  int cancelled = 0;
  auto whole = [&]() -> Task<> {
    const HttpClientRequest request(server.url());
    cancelled += error_of(co_await client().fetch(request)) == errno_code(ECANCELED) ? 1 : 0;
  };
  auto pieces = [&]() -> Task<> {
    HttpClientStream stream = client().open(HttpClientRequest(server.url()));
    cancelled += error_of(co_await stream.read()) == errno_code(ECANCELED) ? 1 : 0;
  };
  Scope scope(loop());
  for (int i = 0; i < 3; ++i) {
    scope.spawn(whole());
    scope.spawn(pieces());
  }
  ASSERT_TRUE(run_until([&] { return server.requests().size() == 2; }));
  scope.cancel();
  ASSERT_TRUE(run_until([&] { return scope.size() == 0; }));
  EXPECT_EQ(cancelled, 6);
  EXPECT_EQ(client().stats().connections, 0u);
  EXPECT_EQ(client().stats().waiting, 0u);
  // The scope is cancelled already, so this fetch never begins.
  scope.spawn(whole());
  ASSERT_TRUE(run_until([&] { return scope.size() == 0; }));
  EXPECT_EQ(cancelled, 7);
}

TEST_P(HttpClientStreamTest, an_answer_in_pieces_as_fast_as_it_is_read) {
  const std::string large = pattern(2 << 20);
  HttpScript& server = serve_text(http_ok(large));
  std::string got;
  auto test = [&]() -> Task<> {
    HttpClientStream stream = client().open(HttpClientRequest(server.url()));
    const auto head = co_await stream.head();
    EXPECT_EQ(head.value()->find("content-length"), std::to_string(large.size()));
    co_await sleep(milliseconds(5));  // meanwhile the stream reads ahead, up to its limit
    for (;;) {
      auto piece = co_await stream.read();
      if (!piece || piece->empty()) {
        EXPECT_TRUE(piece);
        break;
      }
      EXPECT_LE(piece->size(), 128u * 1024);
      got += piece->to_string();
    }
    EXPECT_EQ((co_await stream.read()).value().size(), 0u) << "the end stays";
  };
  run(test());
  EXPECT_TRUE(same_bytes(got, large));
}

TEST_P(HttpClientStreamTest, a_body_is_streamed_up_and_the_answer_read) {
  HttpScript& server = serve([](Connection& connection, const Request& request) {
    connection.send(http_ok(std::to_string(request.body.size())));
  });
  auto test = [&]() -> Task<> {
    HttpClientRequest request("POST", server.url());
    request.streamed = true;
    request.streamed_bytes = 100 * 40000;
    HttpClientStream stream = client().open(request);
    const std::string piece(40000, 'x');
    for (int i = 0; i < 100; ++i) {
      const auto written = co_await stream.write(piece);
      EXPECT_TRUE(written);
    }
    stream.end_body();
    const auto body = co_await read_all(stream);
    EXPECT_EQ(body.value(), "4000000");
  };
  run(test());
}

TEST_P(HttpClientStreamTest, writing_to_a_server_that_goes_fails) {
  HttpScript& server = serve(nullptr);
  server.on_head = [](Connection& connection, std::string_view) { connection.abort(); };
  auto test = [&]() -> Task<> {
    HttpClientRequest request("POST", server.url());
    request.streamed = true;
    HttpClientStream stream = client().open(request);
    std::error_code error;
    for (int i = 0; i < 1000 && !error; ++i) {
      error = error_of(co_await stream.write("x"));
      co_await sleep(milliseconds(1));
    }
    EXPECT_EQ(error, HttpTrouble::kClosedEarly);
    EXPECT_EQ(error_of(co_await stream.head()), HttpTrouble::kClosedEarly);
    EXPECT_EQ(error_of(co_await stream.read()), HttpTrouble::kClosedEarly);
  };
  run(test());
}

TEST_P(HttpClientStreamTest, a_stream_that_is_dropped_closes_its_connection) {
  HttpScript& server = serve_text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
  auto test = [&]() -> Task<> {
    {
      HttpClientStream stream = client().open(HttpClientRequest(server.url()));
      EXPECT_EQ((co_await stream.read()).value().to_string(), "abc");
    }
    EXPECT_EQ(client().stats().connections, 0u);
    HttpClientStream stream = client().open(HttpClientRequest(server.url()));
    EXPECT_TRUE(co_await stream.head());
    stream.cancel();
    EXPECT_EQ(error_of(co_await stream.write("x")), errno_code(ECANCELED));
    EXPECT_EQ((co_await stream.read()).value().to_string(), "abc") << "what is there can still be read";
    EXPECT_EQ(error_of(co_await stream.read()), errno_code(ECANCELED));
  };
  run(test());
  ASSERT_TRUE(run_until([&] { return server.open() == 0; }));
}

TEST_P(HttpClientStreamTest, a_tunnel_in_a_coroutine) {
  HttpScript* server = nullptr;
  server = &serve([&](Connection& connection, const Request&) {
    server->on_bytes = [](Connection& its, Buffer& input) { its.send("re:" + input.to_string()); };
    connection.send("HTTP/1.1 101 Switching Protocols\r\n\r\n");
  });
  auto test = [&]() -> Task<> {
    HttpClientRequest request(server->url());
    request.may_upgrade = true;
    HttpClientStream stream = client().open(request);
    EXPECT_EQ((co_await stream.head()).value()->status(), 101);
    EXPECT_TRUE(co_await stream.write("hello"));
    EXPECT_EQ((co_await stream.read()).value().to_string(), "re:hello");
    stream.end_body();
    EXPECT_EQ((co_await stream.read()).value().size(), 0u);
  };
  run(test());
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpClientStreamTest);

}  // namespace
}  // namespace peal
