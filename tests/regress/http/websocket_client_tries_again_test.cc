// SPDX-License-Identifier: BSD-3-Clause
// A WebSocketClient that reconnects had many defects:
// - If a connection closed before the handshake, it reported that it would not try again, and tried again.
// - For a silent server, and for 502 and 503, it reported the same and did not try again, although the documentation
//   promised it.
// - After an end, its user could not connect it again.
// - It refused the scheme "WS://", and it did not accept an HTTP/1.0 403 as an answer.
// - An interim answer 102 or 103 before the 101 (RFC 9110 15.2) ended it.
// - If the server sent a Close frame and left the connection open, it did not try again.
// - After an exception from on_close, or from on_failed before the handshake, it never connected again.
//
// A server that sends 102 for ever must not hold the handshake beyond its deadline.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/http/websocket/websocket_client.h>
#include <peal/wire/websocket/websocket_handshake.h>
#include <tests/support/http_script.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HttpScript;
using testing::ElementsAre;
using Request = HttpScript::Request;

class WebSocketClientTriesAgain : public test::SimTest {
 protected:
  static std::string accepted(const Request& request) {
    constexpr std::string_view kField = "Sec-WebSocket-Key: ";
    const size_t at = request.head.find(kField) + kField.size();
    return "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
           websocket_accept(std::string_view(request.head).substr(at, 24)) + "\r\n\r\n";
  }
  static std::string refused(int status) { return fmt::format("HTTP/1.1 {} No\r\nContent-Length: 0\r\n\r\n", status); }
  void serve(HttpScript::Answer answer) { server_.emplace(*pair.here, std::move(answer)); }
  std::string url(std::string_view scheme = "ws") const {
    return std::string(scheme) + server_->url("/chat").substr(std::string_view("http").size());
  }
  WebSocketClient& client() {
    if (client_) return *client_;
    WebSocketCallbacks callbacks;
    callbacks.on_open = [this](WebSocket& socket) {
      journal.push_back("open");
      if (on_open) on_open(socket);
    };
    callbacks.on_close = [this](WebSocket&, uint16_t code, std::string_view) {
      journal.push_back("close " + std::to_string(code));
      ++ended;
      if (on_end) on_end();
    };
    client_.emplace(*pair.there, std::move(callbacks), options, [this](const WebSocketFailure& failure) {
      failures.push_back(failure);
      times.push_back(pair.there->now());
      journal.push_back("failed");
      ++ended;
      if (on_end) on_end();
    });
    return *client_;
  }
  // Expects three failures with `error` and `status`, and that each next attempt begins when the failure said.
  void expect_tried_again_as_told(std::error_code error, int status) {
    std::vector<TimePoint> begun;
    HttpScript::Answer answer = server_answer;
    serve([&, answer](Connection& connection, const Request& request) {
      begun.push_back(pair.here->now());
      if (begun.size() == 4) {
        connection.send(accepted(request));
      } else {
        answer(connection, request);
      }
    });
    options.client.retry.reconnect = true;
    options.handshake_timeout = seconds(2);
    ASSERT_TRUE(client().connect(url()));
    ASSERT_TRUE(pair.run_until([&] { return !journal.empty() && journal.back() == "open"; }));
    EXPECT_THAT(journal, ElementsAre("failed", "failed", "failed", "open"));
    for (size_t at = 0; at < failures.size(); ++at) {
      EXPECT_EQ(failures[at].error, error) << failures[at].error.message();
      EXPECT_EQ(failures[at].status, status);
      ASSERT_NE(failures[at].next_attempt_in, Client::kNoRetry);
      const Duration waited = begun.at(at + 1) - times.at(at);
      EXPECT_GE(waited, failures[at].next_attempt_in);
      EXPECT_LE(waited, failures[at].next_attempt_in + milliseconds(50));
    }
    EXPECT_GT(failures.at(2).next_attempt_in, failures.at(0).next_attempt_in) << "each delay is longer";
  }
  // Returns the only failure. Expects that no attempt follows it.
  WebSocketFailure only_failure() {
    EXPECT_TRUE(client().connect(url()));
    EXPECT_TRUE(pair.run_until([&] { return !failures.empty(); }));
    pair.run_for(std::chrono::minutes(2));
    EXPECT_EQ(failures.size(), 1u);
    EXPECT_EQ(server_->opened(), 1u);
    EXPECT_EQ(failures.at(0).next_attempt_in, Client::kNoRetry);
    return failures.at(0);
  }

  test::SimPair pair{1, {}};
  WebSocketClientOptions options;
  HttpScript::Answer server_answer;
  std::function<void(WebSocket&)> on_open;
  std::function<void()> on_end;
  std::vector<WebSocketFailure> failures;
  std::vector<TimePoint> times;  // when the failures were reported
  std::vector<std::string> journal;
  size_t ended = 0;  // how many sockets and attempts have ended

  void drop_client() { client_.reset(); }

 private:
  std::optional<HttpScript> server_;
  std::optional<WebSocketClient> client_;
};

TEST_F(WebSocketClientTriesAgain, after_a_connection_that_closes_before_the_handshake) {
  server_answer = [](Connection& connection, const Request&) { connection.close(); };
  expect_tried_again_as_told(errno_code(ECONNRESET), 0);
}

TEST_F(WebSocketClientTriesAgain, after_a_server_that_is_silent) {
  server_answer = [](Connection&, const Request&) {};
  expect_tried_again_as_told(errno_code(ETIMEDOUT), 0);
}

TEST_F(WebSocketClientTriesAgain, after_a_server_that_is_unavailable) {
  server_answer = [](Connection& connection, const Request&) { connection.send(refused(503)); };
  expect_tried_again_as_told(errno_code(EPROTO), 503);
}

TEST_F(WebSocketClientTriesAgain, only_if_it_may_reconnect) {
  serve([](Connection& connection, const Request&) { connection.close(); });
  EXPECT_EQ(only_failure().error, errno_code(ECONNRESET));
}

TEST_F(WebSocketClientTriesAgain, but_not_after_a_final_answer) {
  options.client.retry.reconnect = true;
  serve([](Connection& connection, const Request&) { connection.send("HTTP/1.0 403 Forbidden\r\n\r\n"); });
  const WebSocketFailure failure = only_failure();
  EXPECT_EQ(failure.error, errno_code(EPROTO));
  EXPECT_EQ(failure.status, 403) << failure.why;
}

TEST_F(WebSocketClientTriesAgain, more_and_more_slowly_if_the_server_resets_each_socket) {
  options.client.retry.reconnect = true;
  std::vector<TimePoint> begun;
  serve([&](Connection& connection, const Request& request) {
    begun.push_back(pair.here->now());
    connection.send(accepted(request));
    connection.loop().after(milliseconds(10), [handle = connection.handle()] { handle.abort(); });
  });
  ASSERT_TRUE(client().connect(url()));
  ASSERT_TRUE(pair.run_until([&] { return begun.size() == 6; }));
  EXPECT_GE(begun[1] - begun[0], milliseconds(50));
  EXPECT_GE(begun[5] - begun[4], milliseconds(800));
  client().stop();
  pair.run_for(std::chrono::minutes(2));
  EXPECT_LE(begun.size(), 6u);
}

TEST_F(WebSocketClientTriesAgain, after_a_close_frame_on_a_connection_that_stays_open) {
  serve([](Connection& connection, const Request& request) {
    connection.send(accepted(request));
    connection.send(std::string_view("\x88\x02\x03\xe9", 4));
  });
  options.client.retry.reconnect = true;
  ASSERT_TRUE(client().connect(url()));
  ASSERT_TRUE(pair.run_until([&] { return journal.size() >= 4; }));
  EXPECT_THAT(journal, ElementsAre("open", "close 1001", "open", "close 1001"));
}

TEST_F(WebSocketClientTriesAgain, although_callbacks_throw) {
  for (const bool before : {true, false}) {
    serve([&](Connection& connection, const Request& request) {
      if (!before) connection.send(accepted(request));
      connection.close();
    });
    on_end = [] { throw std::runtime_error("on purpose"); };
    for (const bool reconnects : {true, false}) {
      options.client.retry.reconnect = reconnects;
      drop_client();
      ASSERT_TRUE(client().connect(url()));
      ASSERT_TRUE(pair.run_until([&] { return ended >= (reconnects ? 3 : 1); })) << before << reconnects;
      client().stop();
      pair.run_for(seconds(1));
      ASSERT_TRUE(client().connect(url()));
      const size_t so_far = ended;
      ASSERT_TRUE(pair.run_until([&] { return ended > so_far; })) << before << reconnects;
      ended = 0;
    }
  }
}

TEST_F(WebSocketClientTriesAgain, but_not_after_a_socket_that_is_aborted_here) {
  options.client.retry.reconnect = true;
  serve([](Connection& connection, const Request& request) { connection.send(accepted(request)); });
  on_open = [](WebSocket& socket) { socket.abort(); };
  ASSERT_TRUE(client().connect(url()));
  pair.run_for(std::chrono::minutes(2));
  EXPECT_THAT(journal, ElementsAre("open", "close 1006"));
}

TEST_F(WebSocketClientTriesAgain, and_may_be_connected_by_its_user_after_any_end) {
  size_t requests = 0;
  serve([&](Connection& connection, const Request& request) {
    switch (++requests) {
      case 1: connection.send(refused(404)); return;
      case 2: connection.close(); return;
      default: connection.send(accepted(request));
    }
  });
  on_open = [](WebSocket& socket) { socket.abort(); };
  size_t ends = 0;
  on_end = [&] {
    if (++ends == 4) return;
    EXPECT_TRUE(client().connect(url())) << ends;
  };
  ASSERT_TRUE(client().connect(url()));
  EXPECT_EQ(client().connect(url()).error(), errno_code(EALREADY));
  ASSERT_TRUE(pair.run_until([&] { return ends == 4; }));
  EXPECT_THAT(journal, ElementsAre("failed", "failed", "open", "close 1006", "open", "close 1006"));
}

TEST_F(WebSocketClientTriesAgain, and_may_be_connected_after_a_stop_at_any_time) {
  serve([](Connection& connection, const Request& request) { connection.send(accepted(request)); });
  for (int at = 0; at < 40; ++at) {
    ASSERT_TRUE(client().connect(url())) << at;
    pair.run_for(std::chrono::microseconds(at * 50));
    client().stop();
  }
  journal.clear();
  on_open = [](WebSocket& socket) { socket.send_text("here"); };
  ASSERT_TRUE(client().connect(url()));
  ASSERT_TRUE(pair.run_until([&] { return !journal.empty() && journal.back() == "open"; }));
  pair.run_for(seconds(5));
  EXPECT_EQ(journal.back(), "open");
  EXPECT_TRUE(failures.empty()) << failures.at(0).why;
}

TEST_F(WebSocketClientTriesAgain, with_a_scheme_in_any_case_and_without_a_fragment) {
  serve([](Connection& connection, const Request& request) { connection.send(accepted(request)); });
  EXPECT_EQ(client().connect(url() + "#top").error(), errno_code(EINVAL));  // RFC 6455 3
  EXPECT_EQ(client().connect(url("WSS")).error(), errno_code(EPROTONOSUPPORT));
  ASSERT_TRUE(client().connect(url("WS")));
  ASSERT_TRUE(pair.run_until([&] { return journal.size() == 1; }));
  EXPECT_THAT(journal, ElementsAre("open"));
}

TEST_F(WebSocketClientTriesAgain, and_accepts_interim_answers_before_the_final_one) {
  serve([](Connection& connection, const Request& request) {
    connection.send("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" +
                    accepted(request));
  });
  ASSERT_TRUE(client().connect(url()));
  ASSERT_TRUE(pair.run_until([&] { return journal.size() == 1; }));
  EXPECT_THAT(journal, ElementsAre("open"));
}

TEST_F(WebSocketClientTriesAgain, and_interim_answers_do_not_extend_the_handshake) {
  options.handshake_timeout = seconds(1);
  std::function<void(const ConnectionHandle&)> go_on = [&](const ConnectionHandle& handle) {
    handle.send("HTTP/1.1 102 Processing\r\n\r\n");
    pair.here->after(milliseconds(400), [&, handle] {
      if (failures.empty()) go_on(handle);
    });
  };
  serve([&](Connection& connection, const Request&) { go_on(connection.handle()); });
  const TimePoint begun = pair.there->now();
  EXPECT_EQ(only_failure().error, errno_code(ETIMEDOUT));
  EXPECT_LE(times.at(0) - begun, seconds(1) + milliseconds(50));
}

}  // namespace
}  // namespace peal
