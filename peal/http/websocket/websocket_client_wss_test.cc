// SPDX-License-Identifier: BSD-3-Clause
// wss:// URLs: a WebSocketClient with WebSocketClientOptions::layer against peal's own endpoint. The layer here is that
// of tests/support/sealed.
#include <gmock/gmock.h>

#include <peal/http/websocket/websocket_client.h>
#include <tests/support/sealed/sealed_port.h>
#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

class WebSocketClientWss : public test::WebSocketTest {
 protected:
  void serve_secure(WebSocketCallbacks callbacks) { serve(std::move(callbacks), {}, {.layer = &layer_}); }
  std::string wss() const { return "wss" + url().substr(2); }
  std::unique_ptr<WebSocketClient> make_client(WebSocketCallbacks callbacks, WebSocketClientOptions options = {}) {
    options.layer = &layer_;
    return std::make_unique<WebSocketClient>(loop(), std::move(callbacks), options,
                                             [this](const WebSocketFailure& failure) { failures.push_back(failure); });
  }

  std::vector<WebSocketFailure> failures;
  const test::SealedLayer layer_;
};

TEST_P(WebSocketClientWss, messages_pings_and_the_close_go_over_the_layer) {
  serve_secure(echoing());
  const std::string large(300'000, 'x');
  WebSocketCallbacks callbacks = noting();
  callbacks.on_open = [&](WebSocket& socket) {
    socket.send_text("Hello");
    socket.send_binary(large);
    socket.ping("p");
  };
  callbacks.on_pong = [&](WebSocket& socket, std::string_view payload) {
    journal.push_back("pong " + std::string(payload));
    socket.close(4000, "done");
  };
  const auto client = make_client(std::move(callbacks));
  ASSERT_TRUE(client->connect(wss()));
  EXPECT_EQ(client->connect(wss()).error(), errno_code(EALREADY));
  ASSERT_TRUE(run_until([&] { return count("close 4000 ") == 1; }));
  EXPECT_THAT(journal, ElementsAre("text Hello", "binary " + large, "pong p", "close 4000 "));
  EXPECT_TRUE(failures.empty());
  ASSERT_TRUE(run_until([&] { return server().connections() == 0; }));
}

TEST_P(WebSocketClientWss, silence_is_met_with_pings) {
  serve_secure(noting("server: "));
  WebSocketClientOptions options;
  options.socket.ping_interval = std::chrono::milliseconds(20);
  const auto client = make_client(noting(), options);
  ASSERT_TRUE(client->connect(wss()));
  ASSERT_TRUE(run_until([&] { return journal.size() >= 4; }));
  EXPECT_THAT(journal, testing::Contains("server: open"));
  EXPECT_THAT(journal, testing::Contains("open"));
  EXPECT_EQ(count("pong "), journal.size() - 2) << "which the server answered";
  client->stop();
  ASSERT_TRUE(run_until([&] { return count("close 1000 ") == 1 && count("server: close 1000 ") == 1; }));
}

TEST_P(WebSocketClientWss, the_scheme_decides_what_goes_over_the_layer) {
  // A client with a layer connects to a plain server by a ws:// URL.
  serve(echoing());
  WebSocketCallbacks callbacks = noting();
  callbacks.on_open = [](WebSocket& socket) { socket.send_text("in the clear"); };
  const auto plain = make_client(std::move(callbacks));
  ASSERT_TRUE(plain->connect(url()));
  ASSERT_TRUE(run_until([&] { return count("text in the clear") == 1; }));
  // A client connects by a wss:// URL to a server without the layer.
  Server rude(loop(), ConnectionCallbacks{.on_message = [](Connection& connection, Buffer&) { connection.abort(); }});
  const auto mistaken = make_client(noting());
  ASSERT_TRUE(mistaken->connect("wss://" + rude.listen("127.0.0.1:0").value().to_string() + "/"));
  ASSERT_TRUE(run_until([&] { return !failures.empty(); }));
  EXPECT_TRUE(failures[0].error);
  EXPECT_EQ(failures[0].next_attempt_in, Client::kNoRetry);
}

TEST_P(WebSocketClientWss, the_server_that_goes_away_is_connected_to_anew) {
  serve_secure(echoing());
  WebSocketClientOptions options;
  options.client.retry = {.attempts = 0, .first_delay = std::chrono::milliseconds(5), .reconnect = true};
  const auto client = make_client(noting(), options);
  ASSERT_TRUE(client->connect(wss()));
  ASSERT_TRUE(run_until([&] { return count("open") == 1; }));
  serve_again(echoing(), {}, {.layer = &layer_});
  ASSERT_TRUE(run_until([&] { return count("open") == 2; }));
}

TEST_P(WebSocketClientWss, urls_that_are_refused) {
  const auto client = make_client({});
  EXPECT_EQ(client->connect("wss://").error(), errno_code(EINVAL));
  EXPECT_EQ(client->connect("wss://user@host/").error(), errno_code(EINVAL));
  EXPECT_EQ(client->connect("https://127.0.0.1/").error(), errno_code(EINVAL));
  client->stop();
  settle();
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(WebSocketClientWss);

}  // namespace
}  // namespace peal
