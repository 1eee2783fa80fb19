// SPDX-License-Identifier: BSD-3-Clause
// A handler wrote each piece of its request's body back to a client that sent 10 to 64 MB. Both sides stopped, and
// after 20 s the client got the error "the server closed before its answer was complete". While the answer was above
// the high-water mark, the server did not read the body that its handler waited for. While the body was above the mark,
// the client did not read the answer. Now a side that asks to read gets input, however much waits to be sent. Further
// requests on the connection still wait.
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/scope.h>
#include <peal/http/client/http_client.h>
#include <peal/http/server/http_server.h>
#include <tests/support/engine_rig.h>
#include <tests/support/engines/hearing.h>
#include <tests/support/stepped_loop.h>

namespace peal {
namespace {

// The body is larger than the kernel's buffers and the high-water marks of both sides together.
constexpr size_t kBodyBytes = 6 * 1024 * 1024;
constexpr size_t kPieceBytes = 64 * 1024;
constexpr Duration kPatience = std::chrono::minutes(2);
constexpr SocketOptions kSmall = {.send_buffer_bytes = 16 * 1024, .receive_buffer_bytes = 16 * 1024};

class EchoOfABodyAsItComes : public test::SteppedLoopTest {
 protected:
  void TearDown() override {
    client_.reset();
    server_.reset();
    SteppedLoopTest::TearDown();
  }
  void serve(HttpHandler handler, HttpServerOptions options = {}) {
    Router router;
    router.post("/", std::move(handler));
    if (options.listen.socket.send_buffer_bytes == 0) options.listen.socket = kSmall;
    options.limits.body_bytes = 2 * kBodyBytes;
    server_ = std::make_unique<HttpServer>(loop(), std::move(router), options);
    address_ = server_->listen("127.0.0.1:0").value();
    HttpClientOptions asking;
    asking.client.connect.socket = kSmall;
    client_ = std::make_unique<HttpClient>(loop(), asking);
  }
  void serve_coroutine() {
    serve([](HttpExchange& exchange) -> Task<> {
      exchange.begin(200);
      for (;;) {
        Result<Buffer> piece = co_await exchange.read();
        if (!piece || piece->empty()) break;
        if (!exchange.write(std::move(*piece))) co_await exchange.writable();
      }
      exchange.end();
    });
  }
  // If `heeds` is true, the handler pauses the body after write() has returned false.
  void serve_callbacks(bool heeds) {
    serve([heeds](HttpExchange& exchange) {
      exchange.begin(200);
      exchange.on_writable([](HttpExchange& its) { its.resume_body(); });
      exchange.on_body(
          [heeds](HttpExchange& its, std::string_view piece) {
            if (!its.write(piece) && heeds) its.pause_body();
          },
          [](HttpExchange& its) { its.end(); });
    });
  }
  HttpClientRequest request() const { return HttpClientRequest("POST", "http://" + address_.to_string() + "/"); }
  HttpClient& client() { return *client_; }
  const SocketAddress& address() const { return address_; }

  void expect_echo_of_a_text() {
    const std::string body = pattern(kBodyBytes);
    HttpClientRequest asked = request();
    asked.body = body;
    std::optional<Result<HttpResponse>> answer;
    ASSERT_TRUE(client().fetch(std::move(asked), [&](Result<HttpResponse> it) { answer.emplace(std::move(it)); }));
    ASSERT_TRUE(run_until([&] { return answer.has_value(); }, kPatience));
    ASSERT_TRUE(*answer) << answer->error().message();
    EXPECT_TRUE(same_bytes((*answer)->body, body));
  }
  void expect_echo_to_coroutines() {
    HttpClientRequest asked = request();
    asked.streamed = true;
    HttpClientStream stream = client().open(asked);
    const std::string body = pattern(kBodyBytes);
    std::string echo;
    const auto write = [&]() -> Task<> {
      for (size_t at = 0; at < body.size(); at += kPieceBytes) {
        EXPECT_TRUE(co_await stream.write(std::string_view(body).substr(at, kPieceBytes)));
      }
      stream.end_body();
    };
    const auto read = [&]() -> Task<> {
      for (;;) {
        const Result<Buffer> piece = co_await stream.read();
        EXPECT_TRUE(piece) << piece.error().message();
        if (!piece || piece->empty()) break;
        echo += piece->to_string();
      }
    };
    Scope scope(loop());
    scope.spawn(write());
    scope.spawn(read());
    EXPECT_TRUE(run_until([&] { return scope.size() == 0; }, kPatience));
    scope.cancel();
    run_until([&] { return scope.size() == 0; });
    EXPECT_TRUE(same_bytes(echo, body));
  }
  void expect_echo_to_callbacks() {
    HttpClientRequest asked = request();
    asked.streamed = true;
    const std::string body = pattern(kBodyBytes);
    std::string echo;
    size_t written = 0;
    const auto fill = [&](HttpFetch& fetch) {
      while (written < body.size()) {
        const std::string_view piece = std::string_view(body).substr(written, kPieceBytes);
        written += piece.size();
        if (!fetch.write(piece)) return;
      }
      fetch.end_body();
    };
    std::optional<Result<void>> over;
    HttpFetchCallbacks callbacks;
    callbacks.on_writable = fill;
    callbacks.on_body = [&](HttpFetch&, std::string_view piece) { echo += piece; };
    callbacks.on_done = [&](const Result<void>& how) { over = how; };
    const Result<HttpFetchId> id = client().start(std::move(asked), std::move(callbacks));
    fill(*client().find(*id));
    ASSERT_TRUE(run_until([&] { return over.has_value(); }, kPatience));
    EXPECT_TRUE(*over) << over->error().message();
    EXPECT_TRUE(same_bytes(echo, body));
  }

 private:
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
  SocketAddress address_;
};

TEST_P(EchoOfABodyAsItComes, of_a_coroutine) {
  serve_coroutine();
  expect_echo_of_a_text();
  expect_echo_to_coroutines();
  expect_echo_to_callbacks();
}

TEST_P(EchoOfABodyAsItComes, of_callbacks_that_pause_the_body) {
  serve_callbacks(true);
  expect_echo_of_a_text();
  expect_echo_to_coroutines();
  expect_echo_to_callbacks();
}

TEST_P(EchoOfABodyAsItComes, of_callbacks_that_do_not_pause_the_body) {
  serve_callbacks(false);
  expect_echo_of_a_text();
}

// A TCP client that sends HTTP as text and can stop reading.
class SlowAsker {
 public:
  SlowAsker(Loop& loop, const SocketAddress& address, const SocketOptions& socket = kSmall)
      : client_(loop,
                {.on_open = [this](Connection& connection) { handle_ = connection.handle(); },
                 .on_message = test::hearing(received)},
                {.connect = {.socket = socket}}) {
    EXPECT_TRUE(client_.connect(address));
  }
  bool connected() const { return static_cast<bool>(handle_); }
  void send(std::string_view bytes) const { handle_.send(bytes); }
  void pause(bool on) const {
    handle_.run([on](Connection& connection) {
      if (on) {
        connection.pause();
      } else {
        connection.resume();
      }
    });
  }
  std::string received;

 private:
  ConnectionHandle handle_;
  Client client_;
};

class RequestsBehindAFullAnswer : public EchoOfABodyAsItComes {
 protected:
  static constexpr size_t kAnswerBytes = 1024 * 1024;
  void serve_large() {
    serve([this](HttpExchange& exchange) {
      ++asked;
      exchange.respond(200, "", std::string(kAnswerBytes, 'a'));
    });
  }
  size_t asked = 0;
};

TEST_P(RequestsBehindAFullAnswer, wait_until_their_client_reads) {
  serve_large();
  SlowAsker peer(loop(), address());
  ASSERT_TRUE(run_until([&] { return peer.connected(); }, kPatience));
  peer.pause(true);
  for (int i = 0; i < 20; ++i) peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody");
  ASSERT_TRUE(run_until([&] { return asked > 0; }, kPatience));
  settle();
  EXPECT_LE(asked, 2u) << "one answer is already above the high-water mark";
  peer.pause(false);
  EXPECT_TRUE(run_until([&] { return peer.received.size() > 20 * kAnswerBytes; }, kPatience));
  EXPECT_EQ(asked, 20u);
}

// The answer is sent at the end of its turn, when the head of the next request has begun to arrive. The server reads
// the rest of this head when the answer has been sent. It does not answer the request with 408.
TEST_P(RequestsBehindAFullAnswer, continue_in_the_middle_of_a_head) {
  constexpr SocketOptions kSmallest = {.send_buffer_bytes = 4096, .receive_buffer_bytes = 4096};
  constexpr size_t kGathered = 60 * 1024;  // the size of an answer, which is sent at the end of the turn
  HttpServerOptions options;
  options.high_water_bytes = 1024;
  options.listen.socket = kSmallest;
  const auto answer = [this](HttpExchange& exchange) {
    ++asked;
    exchange.respond(200, "", std::string(kGathered, 'a'));
  };
  serve(answer, options);
  SlowAsker peer(loop(), address(), kSmallest);
  ASSERT_TRUE(run_until([&] { return peer.connected(); }, kPatience));
  peer.pause(true);
  peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\nPOST / HTTP/1.1\r\nHo");
  ASSERT_TRUE(run_until([&] { return asked == 1; }, kPatience));
  peer.send("st: h\r\nContent-Length: 0\r\n\r\n");
  settle();
  EXPECT_EQ(asked, 1u);
  peer.pause(false);
  EXPECT_TRUE(run_until([&] { return peer.received.size() > 2 * kGathered; }, kPatience));
  EXPECT_EQ(peer.received.find("HTTP/1.1 408 "), std::string::npos);
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(EchoOfABodyAsItComes);
PEAL_TEST_ON_EVERY_PORT_AND_SIM(RequestsBehindAFullAnswer);

}  // namespace
}  // namespace peal
