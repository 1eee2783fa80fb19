// SPDX-License-Identifier: BSD-3-Clause
// WebSockets over simulated networks, with many seeds. If the network only delays, splits and interrupts transfers,
// every message arrives complete and in order. If the network also breaks connections, on_close is called once for each
// socket.
#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket_client.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

class WebSocketSim : public test::SimTest {};

// A client that has sent all its messages, and the messages that it still expects back.
struct Conversation {
  std::deque<std::pair<WebSocketKind, std::string>> expected;
  std::unique_ptr<WebSocketClient> client;
  int closes = 0;
  uint16_t code = 0;
};

void send_some(WebSocket& socket, Conversation& conversation, std::mt19937& random) {
  for (int count = 0; count < 20; ++count) {
    const auto kind = random() % 2 == 0 ? WebSocketKind::kText : WebSocketKind::kBinary;
    std::string message(random() % 4 == 0 ? random() % 20'000 : random() % 200, ' ');
    for (char& byte : message) byte = static_cast<char>('a' + random() % 5);
    if (random() % 3 == 0) {
      socket.begin_message(kind);
      for (size_t at = 0; at < message.size(); at += 5000) {
        socket.write(std::string_view(message).substr(at, 5000));
        if (random() % 4 == 0) socket.ping("between");
      }
      socket.end_message();
    } else {
      socket.send(kind, message);
    }
    conversation.expected.emplace_back(kind, std::move(message));
  }
}

TEST_F(WebSocketSim, every_message_comes_back_whole_and_in_order) {
  on_seeds(12, rough(), [](test::SimPair& pair) {
    std::mt19937 random(static_cast<unsigned>(pair.seed));
    const WebSocketDeflateOptions deflate{.enabled = pair.seed % 2 == 0, .context_takeover = pair.seed % 4 == 0};
    int served = 0;
    WebSocketCallbacks echo;
    echo.on_message = [](WebSocket& socket, WebSocketKind kind, std::string_view message) {
      socket.send(kind, message);
    };
    echo.on_close = [&](WebSocket&, uint16_t code, std::string_view reason) {
      EXPECT_EQ(code, 4000) << reason;
      ++served;
    };
    HttpServer server(*pair.here, Router(WebSocketEndpoint(std::move(echo), {.socket = {.deflate = deflate}})));
    const std::string url = "ws://" + pair.listen(server).to_string() + "/";
    std::vector<Conversation> conversations(3);
    for (Conversation& conversation : conversations) {
      WebSocketCallbacks callbacks;
      callbacks.on_open = [&](WebSocket& socket) { send_some(socket, conversation, random); };
      callbacks.on_message = [&](WebSocket& socket, WebSocketKind kind, std::string_view message) {
        ASSERT_FALSE(conversation.expected.empty());
        EXPECT_TRUE(conversation.expected.front() == std::pair(kind, std::string(message)));
        conversation.expected.pop_front();
        if (conversation.expected.empty()) socket.close(4000);
      };
      callbacks.on_close = [&](WebSocket&, uint16_t code, std::string_view) {
        ++conversation.closes;
        conversation.code = code;
      };
      conversation.client = std::make_unique<WebSocketClient>(*pair.there, std::move(callbacks),
                                                              WebSocketClientOptions{.socket = {.deflate = deflate}});
      EXPECT_TRUE(conversation.client->connect(url));
    }
    const auto all_closed = [&] {
      return served == 3 && std::ranges::all_of(conversations, [](const auto& it) { return it.closes == 1; });
    };
    EXPECT_TRUE(pair.run_until(all_closed));
    for (const Conversation& conversation : conversations) {
      EXPECT_TRUE(conversation.expected.empty());
      EXPECT_EQ(conversation.code, 4000);
    }
  });
}

TEST_F(WebSocketSim, whatever_breaks_each_socket_hears_of_its_end_once) {
  on_seeds(40, SimOptions::hostile(), [](test::SimPair& pair) {
    int opened = 0;
    int closed = 0;
    WebSocketCallbacks callbacks;
    callbacks.on_open = [&](WebSocket&) { ++opened; };
    callbacks.on_message = [](WebSocket& socket, WebSocketKind kind, std::string_view message) {
      socket.send(kind, message);
    };
    callbacks.on_close = [&](WebSocket&, uint16_t, std::string_view) { ++closed; };
    HttpServer server(*pair.here, Router(WebSocketEndpoint(std::move(callbacks))));
    const std::string url = "ws://" + pair.listen(server).to_string() + "/";
    int opened_there = 0;
    int ended_there = 0;
    std::vector<std::unique_ptr<WebSocketClient>> clients;
    for (int count = 0; count < 5; ++count) {
      WebSocketCallbacks at_client;
      at_client.on_open = [&](WebSocket& socket) {
        ++opened_there;
        socket.send_text(std::string(30'000, 'x'));
      };
      at_client.on_message = [](WebSocket& socket, WebSocketKind, std::string_view) { socket.close(); };
      at_client.on_close = [&](WebSocket&, uint16_t, std::string_view) { ++ended_there; };
      clients.push_back(std::make_unique<WebSocketClient>(*pair.there, std::move(at_client), WebSocketClientOptions{},
                                                          [&](const WebSocketFailure&) {
                                                            ++opened_there;
                                                            ++ended_there;
                                                          }));
      EXPECT_TRUE(clients.back()->connect(url));
    }
    EXPECT_TRUE(pair.run_until([&] { return ended_there == 5 && closed == opened && server.connections() == 0; }));
    EXPECT_EQ(opened_there, 5);
  });
}

}  // namespace
}  // namespace peal
