// SPDX-License-Identifier: BSD-3-Clause
// A client uploaded 20 MB to a server that answers 413 at once and leaves the body unread. The client saw the answer
// only when the server closed the connection, 70 s later, or never. curl had it in a millisecond. The client read
// nothing while more than its high-water mark waited to be sent. Now it reads while it sends. When the answer says that
// the body is not wanted, the client stops sending (RFC 9112 9.5). With any other answer it sends the rest of the body.
#include <optional>

#include <gmock/gmock.h>

#include <peal/coro/scope.h>
#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::HttpScript;
using testing::ElementsAre;

// The body is larger than the kernel's buffers and the high-water mark together.
constexpr size_t kBodyBytes = 8 * 1024 * 1024;
constexpr std::string_view kRefusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\n\r\ntoo large";
constexpr Duration kPatience = std::chrono::minutes(2);

class AnswerBeforeTheBodyIsSent : public test::HttpClientTest {
 protected:
  // Called once for each connection, when the head of its request and answers_after_ bytes have arrived.
  using Answers = std::function<void(Connection& connection, std::string_view head)>;

  void SetUp() override {
    HttpClientTest::SetUp();
    client_options.client.connect.socket = kSmall;
  }
  HttpScript& serve_heads(Answers answers) {
    ServerOptions options;
    options.listen.socket = kSmall;
    HttpScript& server = serve(nullptr, "127.0.0.1:0", options);
    server.on_bytes = [this, answers = std::move(answers)](Connection& connection, Buffer& input) {
      came_ += input.size();
      Heard& heard = heard_[&connection];
      heard.bytes += input.size();
      if (!heard.head.ends_with("\r\n\r\n")) {
        heard.head += input.view();
        if (const size_t end = heard.head.find("\r\n\r\n"); end != std::string::npos) heard.head.resize(end + 4);
      }
      if (!heard.head.ends_with("\r\n\r\n") || heard.bytes < answers_after_) return;
      if (!std::exchange(heard.answered, true)) answers(connection, std::string(heard.head));
    };
    return server;
  }
  // Gives `answer` to each request and leaves the rest of the request unread.
  HttpScript& serve_deaf(std::string_view answer) {
    return serve_heads([answer](Connection& connection, std::string_view) {
      connection.send(answer);
      connection.pause();
    });
  }
  static HttpClientRequest upload(const HttpScript& server) {
    return HttpClientRequest("PUT", server.url(), std::string(kBodyBytes, 'u'));
  }
  static HttpClientRequest streaming(const HttpScript& server) {
    HttpClientRequest request("PUT", server.url());
    request.streamed = true;
    return request;
  }
  Result<HttpResponse> ask(HttpClientRequest request) {
    Answer answer;
    EXPECT_TRUE(client().fetch(std::move(request), [&](Result<HttpResponse> it) { answer.emplace(std::move(it)); }));
    EXPECT_TRUE(run_until([&] { return answer.has_value(); }, kPatience));
    return answer ? std::move(*answer) : fail(ETIME);
  }
  // Expects that an upload is sent whole on a second connection, and answered there.
  void expect_sent_again(HttpScript& server) {
    Answer answer;
    ASSERT_TRUE(client().fetch(upload(server), [&](Result<HttpResponse> it) { answer.emplace(std::move(it)); }));
    ASSERT_TRUE(run_until([&] { return came_ > kBodyBytes; }, kPatience));
    server.each([](Connection& connection) { connection.send(test::http_ok("had it")); });
    ASSERT_TRUE(run_until([&] { return answer.has_value(); }, kPatience));
    EXPECT_EQ(answer->value().body, "had it");
    EXPECT_EQ(server.opened(), 2u);
  }
  // Expects that the body was not sent to its end, and that its connection was closed and not used again.
  void expect_closed(const HttpScript& server) {
    EXPECT_EQ(client().stats().connections, 0u);
    EXPECT_LT(came_, kBodyBytes);
    EXPECT_EQ(server.opened(), 1u);
  }
  static std::string text_of(const Result<Buffer>& piece) {
    return piece ? piece->to_string() : piece.error().message();
  }
  void run(Task<> task) {
    Scope scope(loop());
    scope.spawn(std::move(task));
    EXPECT_TRUE(run_until([&] { return scope.size() == 0; }, kPatience));
    scope.cancel();
    run_until([&] { return scope.size() == 0; });
  }

  static constexpr SocketOptions kSmall = {.send_buffer_bytes = 16 * 1024, .receive_buffer_bytes = 16 * 1024};
  size_t came_ = 0;           // how many bytes have come to the servers
  size_t answers_after_ = 0;  // the servers answer after so many bytes of a request

 private:
  struct Heard {
    std::string head;
    size_t bytes = 0;
    bool answered = false;
  };
  std::map<const Connection*, Heard> heard_;
};

TEST_P(AnswerBeforeTheBodyIsSent, a_refusal_is_received_and_ends_the_body) {
  HttpScript& server = serve_deaf(kRefusal);
  const Result<HttpResponse> answer = ask(upload(server));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status(), 413);
  EXPECT_EQ(answer->body, "too large");
  expect_closed(server);
}

TEST_P(AnswerBeforeTheBodyIsSent, a_refusal_is_received_although_a_reset_follows_it) {
  answers_after_ = 64 * 1024;
  // Resets only when the kernel has the whole answer. Otherwise the reset would destroy the answer.
  std::function<void(ConnectionHandle)> reset_when_sent = [&](const ConnectionHandle& handle) {
    handle.run([&](Connection& connection) {
      if (connection.queued_bytes() == 0) return connection.abort();
      loop().post([&, handle] { reset_when_sent(handle); });
    });
  };
  HttpScript& server = serve_heads([&](Connection& connection, std::string_view) {
    connection.send(kRefusal);
    connection.pause();
    loop().post([&, handle = connection.handle()] { reset_when_sent(handle); });
  });
  const Result<HttpResponse> answer = ask(upload(server));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status(), 413);
  expect_closed(server);
}

TEST_P(AnswerBeforeTheBodyIsSent, a_coroutine_that_waits_to_write_is_told_of_the_refusal) {
  answers_after_ = 64 * 1024;
  // The server holds back the last byte of its answer. The writer must be told as soon as the head has arrived.
  ConnectionHandle asked;
  HttpScript& server = serve_heads([&](Connection& connection, std::string_view) {
    connection.send(kRefusal.substr(0, kRefusal.size() - 1));
    connection.pause();
    asked = connection.handle();
  });
  std::error_code write_error;
  std::string body;
  HttpClientStream stream = client().open(streaming(server));
  const auto write = [&]() -> Task<> {
    const std::string piece(64 * 1024, 'u');
    for (;;) {
      const Result<void> written = co_await stream.write(piece);
      if (written) continue;
      write_error = written.error();
      break;
    }
    stream.end_body();
    asked.send(kRefusal.substr(kRefusal.size() - 1));
    const auto head = co_await stream.head();
    EXPECT_TRUE(head && (*head)->status() == 413);
    for (;;) {
      const Result<Buffer> piece_of_answer = co_await stream.read();
      if (!piece_of_answer || piece_of_answer->empty()) break;
      body += piece_of_answer->to_string();
    }
  };
  run(write());
  EXPECT_EQ(write_error, errno_code(EPIPE));
  EXPECT_EQ(body, "too large");
  expect_closed(server);
}

TEST_P(AnswerBeforeTheBodyIsSent, a_callback_that_waits_to_write_is_called_once_more) {
  answers_after_ = 64 * 1024;
  for (const bool length_is_known : {false, true}) {
    came_ = 0;
    HttpScript& server = serve_deaf(kRefusal);
    HttpClientRequest request = streaming(server);
    if (length_is_known) request.streamed_bytes = kBodyBytes;
    std::vector<std::string> told;
    const auto fill = [](HttpFetch& fetch) {
      while (!fetch.refuses_body() && fetch.write(std::string(64 * 1024, 'u'))) {
      }
    };
    HttpFetchCallbacks callbacks;
    callbacks.on_head = [&](HttpFetch& fetch, const HttpResponseHead& head) {
      told.push_back("head " + std::to_string(head.status()) + (fetch.refuses_body() ? ", no body" : ""));
    };
    callbacks.on_writable = [&](HttpFetch& fetch) {
      fill(fetch);
      if (!fetch.refuses_body()) return;
      told.emplace_back("writable");
      EXPECT_TRUE(fetch.write("dropped"));
      fetch.end_body();
    };
    std::optional<Result<void>> over;
    callbacks.on_done = [&](const Result<void>& how) { over = how; };
    const Result<HttpFetchId> id = client().start(std::move(request), std::move(callbacks));
    fill(*client().find(*id));
    ASSERT_TRUE(run_until([&] { return over.has_value(); }, kPatience));
    EXPECT_TRUE(*over) << over->error().message();
    EXPECT_THAT(told, ElementsAre("head 413, no body", "writable"));
    expect_closed(server);
  }
}

TEST_P(AnswerBeforeTheBodyIsSent, a_writer_that_waits_for_100_continue_is_told_too) {
  HttpScript& server = serve_deaf(kRefusal);
  HttpClientRequest request = streaming(server);
  request.expects_continue = true;
  std::error_code write_error;
  HttpClientStream stream = client().open(request);
  const auto write = [&]() -> Task<> {
    const Result<void> written = co_await stream.write("never sent");
    write_error = written ? std::error_code() : written.error();
    const auto head = co_await stream.head();
    EXPECT_TRUE(head && (*head)->status() == 413);
  };
  run(write());
  EXPECT_TRUE(write_error) << "EPIPE, or the error of a stream that has ended";
  stream.cancel();
  expect_closed(server);
}

TEST_P(AnswerBeforeTheBodyIsSent, a_refusal_by_a_proxy_is_received_too) {
  HttpScript& proxy = serve_deaf(kRefusal);
  client_options.proxies.http = proxy.url();
  const Result<HttpResponse> answer =
      ask(HttpClientRequest("PUT", "http://127.0.0.1:9/", std::string(kBodyBytes, 'u')));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status(), 413);
  expect_closed(proxy);
}

TEST_P(AnswerBeforeTheBodyIsSent, a_redirect_is_followed_at_once) {
  HttpScript& server = serve_heads([](Connection& connection, std::string_view head) {
    if (head.starts_with("PUT /there ")) return;
    connection.send("HTTP/1.1 307 Elsewhere\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n");
    connection.pause();
  });
  expect_sent_again(server);
}

TEST_P(AnswerBeforeTheBodyIsSent, a_request_that_may_be_repeated_is_repeated_at_once) {
  client_options.retry.attempts = 2;
  client_options.retry.statuses = {503};
  bool busy = true;
  HttpScript& server = serve_heads([&](Connection& connection, std::string_view) {
    if (!std::exchange(busy, false)) return;
    connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    connection.pause();
  });
  expect_sent_again(server);
}

TEST_P(AnswerBeforeTheBodyIsSent, after_another_answer_the_body_is_sent_and_the_connection_kept) {
  HttpScript& server =
      serve_heads([](Connection& connection, std::string_view) { connection.send(test::http_ok("thanks, send on")); });
  const Result<HttpResponse> answer = ask(upload(server));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->body, "thanks, send on");
  EXPECT_TRUE(run_until([&] { return came_ > kBodyBytes; }, kPatience));
  EXPECT_EQ(client().stats().idle, 1u);
}

// The server may close a connection without reading the whole body. A further request on this connection would then be
// lost.
TEST_P(AnswerBeforeTheBodyIsSent, no_further_request_is_sent_behind_the_rest_of_a_body) {
  client_options.client.connection.high_water_bytes = 2 * kBodyBytes;
  std::vector<ConnectionHandle> asked;
  HttpScript& server = serve_heads([&](Connection& connection, std::string_view) {
    connection.send(test::http_ok("thanks"));
    asked.push_back(connection.handle());
    if (asked.size() == 1) connection.pause();
  });
  for (int i = 0; i < 2; ++i) {
    const Result<HttpResponse> answer =
        ask(i == 0 ? upload(server) : HttpClientRequest("POST", server.url(), std::string("little")));
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->body, "thanks");
  }
  EXPECT_EQ(server.opened(), 2u);
  EXPECT_EQ(client().stats().idle, 1u);
  asked[0].run([](Connection& connection) { connection.resume(); });
  EXPECT_TRUE(run_until([&] { return came_ > kBodyBytes && client().stats().idle == 2; }, kPatience));
}

// RFC 9110 10.1.1: a server that answers without asking for the body either reads the body, or says that it closes the
// connection.
TEST_P(AnswerBeforeTheBodyIsSent, without_100_continue_the_body_is_sent_only_if_the_connection_is_kept) {
  client_options.continue_timeout = std::chrono::hours(1);
  for (const bool closes : {false, true}) {
    came_ = 0;
    HttpScript& server = serve_heads([closes](Connection& connection, std::string_view) {
      connection.send(
          fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: 6\r\n\r\nthanks", closes ? "Connection: close\r\n" : ""));
    });
    HttpClientRequest request = upload(server);
    request.expects_continue = true;
    const Result<HttpResponse> answer = ask(std::move(request));
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->body, "thanks");
    if (closes) {
      expect_closed(server);
      EXPECT_LT(came_, 1000u);
    } else {
      EXPECT_TRUE(run_until([&] { return came_ > kBodyBytes && client().stats().idle == 1; }, kPatience));
      drop_client();
    }
  }
}

TEST_P(AnswerBeforeTheBodyIsSent, a_stream_is_sent_on_while_another_answer_arrives) {
  answers_after_ = 64 * 1024;
  ConnectionHandle asked;
  HttpScript& server = serve_heads([&](Connection& connection, std::string_view) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nsend on");
    asked = connection.handle();
  });
  HttpClientStream stream = client().open(streaming(server));
  const auto both = [&]() -> Task<> {
    const std::string piece(64 * 1024, 'u');
    EXPECT_TRUE(co_await stream.write(piece));
    EXPECT_EQ(text_of(co_await stream.read()), "send on");
    for (size_t sent = piece.size(); sent < kBodyBytes; sent += piece.size()) {
      EXPECT_TRUE(co_await stream.write(piece));
    }
    stream.end_body();
    asked.send(", done");
    EXPECT_EQ(text_of(co_await stream.read()), ", done");
  };
  run(both());
  EXPECT_TRUE(run_until([&] { return came_ > kBodyBytes && client().stats().idle == 1; }, kPatience));
}

TEST_P(AnswerBeforeTheBodyIsSent, an_answer_is_complete_although_its_server_closes_before_the_body_is_sent) {
  HttpScript& server = serve_heads([this](Connection& connection, std::string_view) {
    connection.send(test::http_ok("enough"));
    loop().post([handle = connection.handle()] { handle.close(); });
  });
  const Result<HttpResponse> answer = ask(upload(server));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->body, "enough");
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(AnswerBeforeTheBodyIsSent);

}  // namespace
}  // namespace peal
