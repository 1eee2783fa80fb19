// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a WebSocket sent 40 MiB, and each waited for on_writable when send() returned false. Both stopped, and
// ended with 1006 after 40 to 45 s. Each side read nothing while more than its high-water mark waited to be sent.
#include <memory>
#include <string>

#include <peal/coro/scope.h>
#include <peal/http/websocket/websocket_stream.h>
#include <tests/support/tls/tls_layers.h>
#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

// The messages are larger than the kernel's buffers and the high-water marks of both sides together.
constexpr size_t kMessageBytes = 64 * 1024;
constexpr size_t kMessages = 96;
constexpr Duration kPatience = std::chrono::minutes(2);
constexpr SocketOptions kSmall = {.send_buffer_bytes = 16 * 1024, .receive_buffer_bytes = 16 * 1024};

// One end: how many messages it has sent and received.
struct Side {
  size_t sent = 0;
  size_t came = 0;
  bool in_order = true;
  uint16_t closed = 0;

  static std::string message(size_t number) { return std::string(kMessageBytes, static_cast<char>('a' + number % 26)); }
  void fill(WebSocket& socket) {
    while (sent < kMessages && socket.send_binary(message(sent++))) {
    }
  }
  void take(std::string_view message_that_came) {
    if (message_that_came != message(came)) in_order = false;
    ++came;
  }
  bool whole() const { return came == kMessages; }

  WebSocketCallbacks callbacks() {
    WebSocketCallbacks callbacks;
    callbacks.on_open = [this](WebSocket& socket) { fill(socket); };
    callbacks.on_writable = [this](WebSocket& socket) { fill(socket); };
    callbacks.on_message = [this](WebSocket&, WebSocketKind, std::string_view text) { take(text); };
    callbacks.on_close = [this](WebSocket&, uint16_t code, std::string_view) { closed = code; };
    return callbacks;
  }
};

class WebSocketsThatBothSendMuch : public test::WebSocketTest {
 protected:
  static HttpServerOptions small_server() {
    HttpServerOptions options;
    options.listen.socket = kSmall;
    return options;
  }
  std::unique_ptr<WebSocketClient> connect(WebSocketCallbacks callbacks) {
    WebSocketClientOptions options;
    options.client.connect.socket = kSmall;
    auto client = std::make_unique<WebSocketClient>(loop(), std::move(callbacks), options);
    EXPECT_TRUE(client->connect(url()));
    return client;
  }
  void expect_all() {
    ASSERT_TRUE(
        run_until([&] { return (here.whole() && there.whole()) || here.closed != 0 || there.closed != 0; }, kPatience))
        << here.came << " and " << there.came << " messages came";
    EXPECT_TRUE(here.whole() && here.in_order);
    EXPECT_TRUE(there.whole() && there.in_order);
    EXPECT_EQ(here.closed, 0);
    EXPECT_EQ(there.closed, 0);
  }

  Side here;
  Side there;
};

TEST_P(WebSocketsThatBothSendMuch, by_callbacks) {
  serve(there.callbacks(), {}, small_server());
  const auto client = connect(here.callbacks());
  expect_all();
}

TEST_P(WebSocketsThatBothSendMuch, by_callbacks_in_fragments) {
  serve(there.callbacks(), {}, small_server());
  WebSocketCallbacks callbacks = here.callbacks();
  const auto fill = [this](WebSocket& socket) {
    while (here.sent < kMessages) {
      const std::string message = Side::message(here.sent++);
      socket.begin_message(WebSocketKind::kBinary);
      socket.write(std::string_view(message).substr(0, kMessageBytes / 2));
      if (!socket.end_message(std::string_view(message).substr(kMessageBytes / 2))) return;
    }
  };
  callbacks.on_open = fill;
  callbacks.on_writable = fill;
  const auto client = connect(std::move(callbacks));
  expect_all();
}

TEST_P(WebSocketsThatBothSendMuch, by_coroutines) {
  Scope scope(loop());
  const auto talk = [](std::shared_ptr<WebSocketStream> stream, Side& side) -> Task<> {
    for (; side.sent < kMessages; ++side.sent) stream->send(WebSocketKind::kBinary, Side::message(side.sent));
    while (!side.whole()) {
      const auto message = co_await stream->receive();
      if (!message) break;
      side.take(message->text);
    }
  };
  const auto begin = [&](Side& side) {
    return websocket_streams([&](std::shared_ptr<WebSocketStream> stream) { scope.spawn(talk(stream, side)); });
  };
  serve(begin(there), {}, small_server());
  const auto client = connect(begin(here));
  expect_all();
  scope.cancel();
  ASSERT_TRUE(run_until([&] { return scope.size() == 0; }, kPatience));
}

// Since reading no longer stops, a peer that sends pings and reads nothing could make the queue of their answers grow.
TEST_P(WebSocketsThatBothSendMuch, pings_of_a_peer_that_reads_nothing_do_not_grow_the_queue) {
  WebSocket* served = nullptr;
  WebSocketCallbacks callbacks;
  callbacks.on_open = [&](WebSocket& socket) { served = &socket; };
  serve(std::move(callbacks), {}, small_server());
  test::BytePeer& peer = open_peer();
  ASSERT_TRUE(run_until([&] { return served != nullptr; }, kPatience));
  peer.connection().run([](Connection& connection) { connection.pause(); });
  settle();
  while (served->send_binary(std::string(kMessageBytes, 'm'))) {
  }
  served->send_binary(std::string(32 * kMessageBytes, 'm'));  // so much that the kernel's buffers cannot take it all
  settle();
  const size_t queued = served->queued_bytes();
  const uint64_t received = served->connection().received_bytes();
  // Each ping has 100 bytes and is masked with zeros.
  std::string pings;
  for (int i = 0; i < 1000; ++i) pings += std::string("\x89\xe4\0\0\0\0", 6) + std::string(100, 'p');
  for (int i = 0; i < 10; ++i) peer.send(pings);
  ASSERT_TRUE(
      run_until([&] { return served->connection().received_bytes() - received >= 10 * pings.size(); }, kPatience));
  EXPECT_LE(served->queued_bytes(), queued);
  peer.connection().run([](Connection& connection) { connection.resume(); });
  // The last ping is answered, behind the messages.
  EXPECT_TRUE(run_until([&] { return peer.received.ends_with("\x8a\x64" + std::string(100, 'p')); }, kPatience));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(WebSocketsThatBothSendMuch);

}  // namespace
}  // namespace peal
