// SPDX-License-Identifier: BSD-3-Clause
// Tests in which a client streams its request while the server streams its answer. The answer begins early, or the
// server echoes each piece, or both sides send WebSocket messages at the same time.
#include <memory>
#include <optional>
#include <utility>

#include <peal/coro/scope.h>
#include <peal/http/client/http_client.h>
#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket_client.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <tests/integration/duplex_rig.h>

namespace peal {
namespace {

using test::DuplexTalk;

class DuplexHttpTest : public test::DuplexTest {
 protected:
  void TearDown() override {
    if (tasks_ && tasks_->size() > 0) end_loop();
    tasks_.reset();
    stream_.reset();
    websocket_.reset();
    client_.reset();
    server_.reset();
    DuplexTest::TearDown();
  }

  // Begins the answer while the request is still arriving. Ends the answer when everything is sent and received.
  void answer_early(HttpExchange& exchange) {
    exchange.on_body([this](HttpExchange&, std::string_view piece) { server_talk.hear(piece); },
                     [this](HttpExchange& its) { end_answer(its); });
    exchange.on_abandoned([this](HttpExchange&) { server_talk.ended = ", abandoned"; });
    exchange.on_writable([this](HttpExchange& its) { write_answer(its); });
    exchange.begin(200, "application/octet-stream");
    write_answer(exchange);
  }
  void write_answer(HttpExchange& exchange) {
    while (!server_talk.all_sent()) {
      if (!exchange.write(server_talk.next())) return;
    }
    end_answer(exchange);
  }
  void end_answer(HttpExchange& exchange) {
    if (server_talk.done() && !exchange.complete()) exchange.end();
  }
  // Writes the answer and ends it, even if only a part of the request has arrived.
  static void answer_without_reading(DuplexTalk& talk, HttpExchange& exchange) {
    while (!talk.all_sent()) {
      if (!exchange.write(talk.next())) return;
    }
    if (!exchange.complete()) exchange.end();
  }
  // Answers with two tasks. One writes the answer, the other reads the request.
  static Task<> answer_early_in_tasks(Loop& loop, DuplexTalk& talk, HttpExchange& exchange) {
    exchange.begin(200, "application/octet-stream");
    Scope scope(loop);
    scope.spawn(write_answer_in_a_task(talk, exchange));
    for (;;) {
      Result<Buffer> piece = co_await exchange.read();
      if (!piece) talk.ended = ", " + piece.error().message();
      if (!piece || piece->empty()) break;
      talk.hear(piece->view());
    }
    static_cast<void>(co_await scope.join());
  }
  static Task<> write_answer_in_a_task(DuplexTalk& talk, HttpExchange& exchange) {
    while (!talk.all_sent()) {
      exchange.write(talk.next());
      const Result<void> writable = co_await exchange.writable();
      if (!writable) {
        talk.ended = ", " + writable.error().message();
        co_return;
      }
    }
  }
  static Task<> echo(DuplexTalk& talk, HttpExchange& exchange) {
    exchange.begin(200, "application/octet-stream");
    for (;;) {
      Result<Buffer> piece = co_await exchange.read();
      if (!piece) {
        talk.ended = ", " + piece.error().message();
        co_return;
      }
      if (piece->empty()) co_return;
      talk.sent += piece->size();
      talk.heard += piece->size();
      exchange.write(std::move(*piece));
      static_cast<void>(co_await exchange.writable());
    }
  }
  // Echoes with callbacks. If a piece cannot be sent, it pauses the body of the request.
  void echo_in_callbacks(HttpExchange& exchange) {
    exchange.begin(200, "application/octet-stream");
    exchange.on_writable([](HttpExchange& its) { its.resume_body(); });
    exchange.on_body(
        [this](HttpExchange& its, std::string_view piece) {
          server_talk.sent += piece.size();
          server_talk.heard += piece.size();
          if (!its.write(piece)) its.pause_body();
        },
        [](HttpExchange& its) { its.end(); });
  }

  void serve(HttpHandler handler, WebSocketCallbacks talking = {}) {
    Router router;
    router.post("/", std::move(handler), {.body_limit_bytes = 2 * kBytes});
    router.get("/ws", WebSocketEndpoint(std::move(talking)));
    HttpServerOptions options;
    options.listen.socket = small();
    server_ = std::make_unique<HttpServer>(loop(), std::move(router), options);
    address_ = server_->listen("127.0.0.1:0").value();
  }
  HttpClient& http_client() {
    HttpClientOptions options;
    options.client.connect.socket = small();
    client_.emplace(loop(), options);
    return *client_;
  }
  HttpClientRequest request(bool with_length) const {
    HttpClientRequest posts("POST", "http://" + address_.to_string() + "/");
    posts.streamed = true;
    if (with_length) posts.streamed_bytes = kBytes;
    return posts;
  }

  void write_request(HttpFetch& fetch) {
    while (!client_talk.all_sent()) {
      if (!fetch.write(client_talk.next())) return;
    }
    fetch.end_body();
  }
  void call_in_callbacks(bool hears_own, bool with_length = false) {
    HttpFetchCallbacks callbacks;
    callbacks.on_body = [this, hears_own](HttpFetch&, std::string_view piece) { hear(piece, hears_own); };
    callbacks.on_writable = [this](HttpFetch& fetch) { write_request(fetch); };
    callbacks.on_done = [this](const Result<void>& how) {
      client_talk.ended = how ? ", done" : ", " + how.error().message();
    };
    HttpClient& client = http_client();
    const Result<HttpFetchId> id = client.start(request(with_length), std::move(callbacks));
    ASSERT_TRUE(id);
    write_request(*client.find(*id));
  }
  void hear(std::string_view piece, bool own) {
    if (own) return client_talk.hear_own(piece);
    client_talk.hear(piece);
  }

  static Task<> write_all(HttpClientStream& stream, DuplexTalk& talk) {
    while (!talk.all_sent()) {
      const std::string_view piece = talk.next();
      const Result<void> written = co_await stream.write(piece);
      if (!written) co_return;
    }
    stream.end_body();
  }
  Task<> read_all(HttpClientStream& stream, bool hears_own) {
    for (;;) {
      Result<Buffer> piece = co_await stream.read();
      if (!piece) client_talk.ended = ", " + piece.error().message();
      if (!piece || piece->empty()) co_return;
      hear(piece->view(), hears_own);
    }
  }
  void call_in_tasks(bool hears_own) {
    stream_.emplace(http_client().open(request(false)));
    tasks_.emplace(loop());
    tasks_->spawn(write_all(*stream_, client_talk));
    tasks_->spawn(read_all(*stream_, hears_own));
  }

  void expect_it() {
    expect_both(server_talk, client_talk);
    if (tasks_) tasks_->cancel();
    EXPECT_TRUE(run_until([&] { return !tasks_ || tasks_->size() == 0; }, std::chrono::seconds(60)));
  }
  HttpHandler early() {
    return [this](HttpExchange& exchange) { answer_early(exchange); };
  }
  HttpHandler early_in_tasks() {
    return [this](HttpExchange& exchange) { return answer_early_in_tasks(loop(), server_talk, exchange); };
  }
  HttpHandler echoing_in_a_task() {
    return [this](HttpExchange& exchange) { return echo(server_talk, exchange); };
  }
  HttpHandler echoing() {
    return [this](HttpExchange& exchange) { echo_in_callbacks(exchange); };
  }

  // Sends messages until the socket takes no more or all are sent.
  static void say(WebSocket& socket, DuplexTalk& talk) {
    while (!talk.all_sent()) {
      if (!socket.send_binary(talk.next())) return;
    }
  }
  static WebSocketCallbacks talking(DuplexTalk& talk) {
    WebSocketCallbacks callbacks;
    callbacks.on_open = [&talk](WebSocket& socket) { say(socket, talk); };
    callbacks.on_writable = [&talk](WebSocket& socket) { say(socket, talk); };
    callbacks.on_message = [&talk](WebSocket&, WebSocketKind, std::string_view message) { talk.hear(message); };
    callbacks.on_close = [&talk](WebSocket&, uint16_t code, std::string_view why) {
      talk.ended = fmt::format(", closed: {} {}", code, why);
    };
    return callbacks;
  }
  void call_by_websocket() {
    WebSocketClientOptions options;
    options.client.connect.socket = small();
    websocket_ = std::make_unique<WebSocketClient>(loop(), talking(client_talk), options);
    ASSERT_TRUE(websocket_->connect("ws://" + address_.to_string() + "/ws"));
  }

 private:
  SocketAddress address_;
  std::unique_ptr<HttpServer> server_;
  std::optional<HttpClient> client_;
  std::optional<HttpClientStream> stream_;
  std::unique_ptr<WebSocketClient> websocket_;
  std::optional<Scope> tasks_;
};

TEST_P(DuplexHttpTest, answer_that_begins_early) {
  serve(early());
  call_in_callbacks(false);
  expect_it();
}

TEST_P(DuplexHttpTest, answer_that_begins_early_to_a_request_of_known_length) {
  serve(early());
  call_in_callbacks(false, true);
  expect_it();
}

TEST_P(DuplexHttpTest, answer_that_tasks_begin_early) {
  serve(early_in_tasks());
  call_in_callbacks(false);
  expect_it();
}

TEST_P(DuplexHttpTest, answer_that_begins_early_to_tasks) {
  serve(early());
  call_in_tasks(false);
  expect_it();
}

TEST_P(DuplexHttpTest, answer_that_ends_before_its_request_arrives_whole) {
  serve([this](HttpExchange& exchange) {
    exchange.on_writable([this](HttpExchange& its) { answer_without_reading(server_talk, its); });
    exchange.begin(200, "application/octet-stream");
    answer_without_reading(server_talk, exchange);
  });
  call_in_callbacks(false);
  const auto over = [&] { return !client_talk.ended.empty(); };
  EXPECT_TRUE(run_until(over, kPatience)) << server_talk.report() << client_talk.report();
  EXPECT_TRUE(client_talk.all_heard()) << server_talk.report() << client_talk.report();
  EXPECT_EQ(client_talk.ended, ", done") << server_talk.report() << client_talk.report();
}

TEST_P(DuplexHttpTest, echo_piece_by_piece) {
  serve(echoing());
  call_in_callbacks(true);
  expect_it();
}

TEST_P(DuplexHttpTest, echo_piece_by_piece_in_a_task) {
  serve(echoing_in_a_task());
  call_in_callbacks(true);
  expect_it();
}

TEST_P(DuplexHttpTest, echo_piece_by_piece_in_tasks_on_both_sides) {
  serve(echoing_in_a_task());
  call_in_tasks(true);
  expect_it();
}

TEST_P(DuplexHttpTest, websockets_that_both_send_at_once) {
  serve(early(), talking(server_talk));
  call_by_websocket();
  expect_it();
}

PEAL_TEST_DUPLEX(DuplexHttpTest);

}  // namespace
}  // namespace peal
