// SPDX-License-Identifier: BSD-3-Clause
// WebSocketClient against peal's own server, and against servers that give other answers.
#include <peal/http/websocket/websocket_client.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include <peal/loop/loop_group.h>
#include <peal/wire/websocket/websocket_handshake.h>
#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

class WebSocketClientSuite : public test::WebSocketTest {
 protected:
  // Returns a client that has begun to connect to the server's /ws.
  std::unique_ptr<WebSocketClient> connect_client(WebSocketCallbacks callbacks,
                                                  const WebSocketClientOptions& options = {}) {
    auto client =
        std::make_unique<WebSocketClient>(loop(), std::move(callbacks), options,
                                          [this](const WebSocketFailure& failure) { failures.push_back(failure); });
    EXPECT_TRUE(client->connect(url()));
    return client;
  }
  // Returns a server that answers `text` to all input.
  std::unique_ptr<Server> serve_text(std::string text) {
    auto server = std::make_unique<Server>(
        loop(), ConnectionCallbacks{.on_message = [text = std::move(text)](Connection& connection, Buffer& input) {
          input.clear();
          connection.send(text);
        }});
    address = server->listen("127.0.0.1:0").value();
    return server;
  }
  // Returns a server that accepts the handshake and sends `frames`. All later input is passed to `hear`.
  std::unique_ptr<Server> serve_handshakes(std::string frames, std::function<void(std::string_view)> hear) {
    auto on_message = [frames = std::move(frames), hear = std::move(hear)](Connection& connection, Buffer& input) {
      const std::string_view bytes = input.view();
      if (bytes.starts_with("GET ")) {
        const std::string_view key = bytes.substr(bytes.find("Sec-WebSocket-Key: ") + 19, 24);
        connection.send("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
                        websocket_accept(key) + "\r\n\r\n" + frames);
      } else {
        hear(bytes);
      }
      input.clear();
    };
    auto server = std::make_unique<Server>(loop(), ConnectionCallbacks{.on_message = std::move(on_message)});
    address = server->listen("127.0.0.1:0").value();
    return server;
  }
  std::vector<WebSocketFailure> failures;
};

TEST_P(WebSocketClientSuite, talks_with_peal_s_server_with_and_without_compression) {
  std::string large(300'000, 'x');
  for (size_t at = 0; at < large.size(); ++at) large[at] = static_cast<char>('a' + at * at % 23);
  for (const WebSocketDeflateOptions& deflate :
       {WebSocketDeflateOptions{}, WebSocketDeflateOptions{.enabled = true, .least_bytes = 1},
        WebSocketDeflateOptions{.enabled = true, .context_takeover = true, .window_bits = 10, .least_bytes = 1}}) {
    journal.clear();
    serve(echoing(), {.socket = {.deflate = deflate}});
    WebSocketCallbacks callbacks = noting();
    callbacks.on_open = [&](WebSocket& socket) {
      EXPECT_EQ(socket.is_deflated(), deflate.enabled);
      EXPECT_EQ(socket.role(), WebSocketRole::kClient);
      socket.send_text("Hello");
      socket.send_binary(large);
      socket.send_text("");
      socket.begin_message(WebSocketKind::kText);
      socket.write("in ");
      socket.end_message("parts");
      socket.send(WebSocketBroadcast(WebSocketKind::kText, "shared"));
      socket.ping("p");
    };
    callbacks.on_pong = [&](WebSocket& socket, std::string_view) { socket.close(4000, "done"); };
    auto client = connect_client(std::move(callbacks), {.socket = {.deflate = deflate}});
    ASSERT_TRUE(run_until([&] { return count("close 4000 ") == 1; }));
    EXPECT_THAT(journal,
                ElementsAre("text Hello", "binary " + large, "text ", "text in parts", "text shared", "close 4000 "));
    ASSERT_TRUE(run_until([&] { return server().connections() == 0; }));
  }
}

TEST_P(WebSocketClientSuite, urls_that_are_refused_at_once) {
  WebSocketClient client(loop(), {}, {.protocols = {"good"}});
  EXPECT_EQ(client.connect("http://127.0.0.1/").error(), errno_code(EINVAL));
  EXPECT_EQ(client.connect("ws://").error(), errno_code(EINVAL));
  EXPECT_EQ(client.connect("ws://user@host/").error(), errno_code(EINVAL));
  EXPECT_EQ(client.connect("wss://127.0.0.1/").error(), errno_code(EPROTONOSUPPORT));
  WebSocketClient bad(loop(), {}, {.protocols = {"two words"}});
  EXPECT_EQ(bad.connect("ws://127.0.0.1:1/").error(), errno_code(EINVAL));
  serve(echoing());
  EXPECT_TRUE(client.connect(url()));
  EXPECT_EQ(client.connect(url()).error(), errno_code(EALREADY));
}

TEST_P(WebSocketClientSuite, subprotocol_and_fields_reach_the_server) {
  serve({.on_open = [&](WebSocket& socket) { journal.push_back("served " + socket.protocol()); }},
        {.protocols = {"v2"}, .origins = {"http://me"}});
  auto client = connect_client({.on_open = [&](WebSocket& socket) { journal.push_back("got " + socket.protocol()); }},
                               {.protocols = {"v1", "v2"}, .origin = "http://me"});
  ASSERT_TRUE(run_until([&] { return journal.size() == 2; }));
  EXPECT_THAT(journal, ElementsAre("served v2", "got v2"));
}

TEST_P(WebSocketClientSuite, answers_that_are_no_websocket) {
  const struct {
    const char* answer;
    int status;
    std::string_view why;
  } cases[] = {
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "the server answered 404"},
      {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n", 101,
       "Sec-WebSocket-Accept is wrong"},
      {"220 smtp.example.com ESMTP\r\n\r\n", 0, "the answer is not HTTP/1.1"},
  };
  for (const auto& wrong : cases) {
    failures.clear();
    auto server = serve_text(wrong.answer);
    auto client = connect_client(noting());
    ASSERT_TRUE(run_until([&] { return !failures.empty(); }));
    EXPECT_EQ(failures[0].error, errno_code(EPROTO));
    EXPECT_EQ(failures[0].status, wrong.status);
    EXPECT_EQ(failures[0].why, wrong.why);
    ASSERT_TRUE(run_until([&] { return server->connections() == 0; }));
    EXPECT_EQ(failures.size(), 1u);
  }
  EXPECT_TRUE(journal.empty());
}

TEST_P(WebSocketClientSuite, an_answer_without_end_is_cut_off) {
  auto server = serve_text("HTTP/1.1 101 X\r\nX: " + std::string(20'000, 'x'));
  auto client = connect_client(noting());
  ASSERT_TRUE(run_until([&] { return !failures.empty(); }));
  EXPECT_EQ(failures[0].why, "the answer is too long");
}

TEST_P(WebSocketClientSuite, a_server_that_does_not_answer) {
  auto server = serve_text("");
  auto client = connect_client(noting(), {.handshake_timeout = milliseconds(20)});
  ASSERT_TRUE(run_until([&] { return !failures.empty(); }));
  EXPECT_EQ(failures[0].error, errno_code(ETIMEDOUT));
}

TEST_P(WebSocketClientSuite, a_server_that_is_not_there) {
  auto server = serve_text("");
  server.reset();
  settle();
  auto client = connect_client(noting());
  ASSERT_TRUE(run_until([&] { return !failures.empty(); }));
  EXPECT_EQ(failures[0].error, errno_code(ECONNREFUSED));
  EXPECT_EQ(failures[0].next_attempt_in, Client::kNoRetry);
}

TEST_P(WebSocketClientSuite, masked_frames_of_a_server_are_refused) {
  std::string answer;
  auto server = serve_handshakes(
      test::server_frame(WebSocketOpcode::kText, "good") + test::client_frame(WebSocketOpcode::kText, "bad"),
      [&](std::string_view bytes) { answer += bytes; });
  auto client = connect_client(noting());
  ASSERT_TRUE(run_until([&] { return journal.size() == 3; }));
  EXPECT_THAT(journal, ElementsAre("open", "text good", "close 1002 a server's frame with a mask"));
  EXPECT_EQ(test::read_websocket(WebSocketRole::kServer, answer),
            "close " + websocket_close_payload(1002, "a server's frame with a mask") + "|");
}

TEST_P(WebSocketClientSuite, every_frame_is_masked_with_another_key) {
  std::string seen;
  auto server = serve_handshakes({}, [&](std::string_view bytes) { seen += bytes; });
  auto client = connect_client({.on_open = [](WebSocket& socket) {
    for (int at = 0; at < 200; ++at) socket.send_text("same");
  }});
  ASSERT_TRUE(run_until([&] { return seen.size() == 200 * 10; }));
  std::set<std::string> keys;
  for (size_t at = 0; at < seen.size(); at += 10) keys.insert(seen.substr(at + 2, 4));
  EXPECT_GE(keys.size(), 199u);
}

TEST_P(WebSocketClientSuite, stop_closes_in_order) {
  serve(noting("server "));
  auto client = connect_client(noting("client "));
  ASSERT_TRUE(run_until([&] { return journal.size() == 2; }));
  client->stop();
  ASSERT_TRUE(run_until([&] { return journal.size() == 4; }));
  EXPECT_EQ(count("server close 1000 "), 1u);
  EXPECT_EQ(count("client close 1000 "), 1u);
}

// The messages arrive in one piece with the answer to the handshake. After stop() they must not be passed to
// on_message.
TEST_P(WebSocketClientSuite, stop_in_a_callback_is_at_once) {
  using namespace std::string_literals;
  std::string heard;
  auto server = serve_handshakes("\x81\1a\x81\1b\x81\1c"s, [&](std::string_view bytes) { heard += bytes; });
  for (const bool in_on_open : {true, false}) {
    heard.clear();
    journal.clear();
    std::unique_ptr<WebSocketClient> client;
    WebSocketCallbacks callbacks;
    callbacks.on_open = [&](WebSocket& socket) {
      if (in_on_open) client->stop();
      EXPECT_EQ(socket.is_open(), !in_on_open);
    };
    callbacks.on_message = [&](WebSocket& socket, WebSocketKind, std::string_view message) {
      journal.emplace_back(message);
      client->stop();
      EXPECT_FALSE(socket.is_open());
    };
    client = connect_client(std::move(callbacks));
    ASSERT_TRUE(run_until([&] { return heard.starts_with('\x88'); })) << "Close";
    EXPECT_EQ(journal.size(), in_on_open ? 0u : 1u);
  }
}

TEST_P(WebSocketClientSuite, reconnects_when_the_server_goes_away) {
  WebSocketClientOptions options;
  options.client.retry = {.attempts = 0, .first_delay = milliseconds(1), .reconnect = true};
  serve(noting("server "));
  auto client = connect_client(noting(), options);
  ASSERT_TRUE(run_until([&] { return count("open") == 1; }));
  server().drain(std::chrono::seconds(5), [](const DrainReport&) {});
  ASSERT_TRUE(run_until([&] { return count("close 1001 the server goes away") == 1; }));
  serve_again(noting("server "));
  EXPECT_TRUE(run_until([&] { return count("open") == 2; }));
}

TEST_P(WebSocketClientSuite, reconnects_when_the_server_falls_silent) {
  WebSocketClientOptions options;
  options.client.retry.reconnect = true;
  options.socket = {.ping_interval = milliseconds(5), .pong_timeout = milliseconds(5)};
  auto server = serve_handshakes({}, [](std::string_view) {});
  auto client = connect_client(noting(), options);
  ASSERT_TRUE(run_until([&] { return count("open") == 3; }));
  EXPECT_EQ(count("close 1006 the peer did not answer a ping in time"), 2u);
}

TEST_P(WebSocketClientSuite, dies_at_any_moment) {
  serve(echoing());
  for (int turns = 0; turns < 12; ++turns) {
    auto client = connect_client(noting());
    for (int turn = 0; turn < turns; ++turn) run_for(milliseconds(1));
    client.reset();
    journal.clear();
    settle();
    EXPECT_TRUE(journal.empty());
  }
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(WebSocketClientSuite);

// Handles pass messages from other threads to the loops of the sockets.
TEST(WebSocketThreads, handles_are_used_from_other_threads) {
  auto group = LoopGroup::start(2).value();
  std::mutex mutex;
  std::vector<WebSocketHandle> handles;
  WebSocketCallbacks callbacks;
  callbacks.on_open = [&](WebSocket& socket) {
    const std::lock_guard lock(mutex);
    handles.push_back(socket.handle());
  };
  HttpServer server(*group, Router(WebSocketEndpoint(std::move(callbacks))));
  const std::string url = "ws://" + server.listen("127.0.0.1:0").value().to_string() + "/ws";
  constexpr size_t kClients = 8;
  constexpr size_t kMessages = 100;
  std::atomic<size_t> received = 0;
  std::atomic<size_t> closed = 0;
  {
    test::LoopThread clients_thread{LoopOptions{}};
    std::vector<std::unique_ptr<WebSocketClient>> clients;
    for (size_t at = 0; at < kClients; ++at) {
      WebSocketCallbacks at_client{
          .on_message = [&](WebSocket&, WebSocketKind, std::string_view) { ++received; },
          .on_close = [&](WebSocket&, uint16_t code, std::string_view) { closed += code == 4321 ? 1 : 0; }};
      clients.push_back(std::make_unique<WebSocketClient>(clients_thread.loop(), std::move(at_client)));
      ASSERT_TRUE(clients.back()->connect(url));
    }
    const auto until = [&](const std::function<bool()>& done) {
      const TimePoint give_up = monotonic_now() + std::chrono::seconds(10);
      while (!done() && monotonic_now() < give_up) std::this_thread::yield();
      return done();
    };
    ASSERT_TRUE(until([&] {
      const std::lock_guard lock(mutex);
      return handles.size() == kClients;
    }));
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&] {
        for (size_t at = 0; at < kMessages; ++at) {
          const WebSocketBroadcast message(WebSocketKind::kText, "to all");
          for (const WebSocketHandle& handle : handles) handle.send(message);
        }
      });
    }
    threads.clear();
    for (const WebSocketHandle& handle : handles) handle.close(4321);
    EXPECT_TRUE(until([&] { return closed == kClients; }));
    EXPECT_EQ(received, 2 * kMessages * kClients);
    clients.clear();
  }
  group->stop();
  group->join();
}

}  // namespace
}  // namespace peal
