// SPDX-License-Identifier: BSD-3-Clause
// One large WebSocket message left its memory behind in three places:
// - the string of the loop in which messages are shown;
// - the output of the inflater;
// - the deflater of each connection that compresses.
//
// The code meant to free it by `text = {}`, but this keeps the memory of the string.
#include <random>
#include <string>

#include <gmock/gmock.h>

#include <peal/base/memory/memory_budget.h>
#include <tests/support/allocated_bytes.h>
#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

constexpr size_t kMessageBytes = 4 * 1024 * 1024;

class MemoryOfMessages : public test::WebSocketTest {
 protected:
  static size_t uncounted() { return test::allocated_bytes() - MemoryBudget::held_bytes(); }
  // Returns bytes that no codec can make smaller.
  static std::string noise() {
    std::mt19937_64 random(1);
    std::string text(kMessageBytes, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    return text;
  }
  // Sends one message to the server, which sends it back. Expects that hardly any memory stays allocated outside the
  // memory budget.
  void send_one(const WebSocketOptions& options) {
    serve(echoing(), {.socket = options});
    const std::string message = noise();
    size_t came = 0;
    WebSocketHandle handle;
    WebSocketCallbacks callbacks;
    callbacks.on_open = [&](WebSocket& socket) {
      handle = socket.handle();
      socket.send_binary("a first message, for the codecs");
    };
    callbacks.on_message = [&](WebSocket&, WebSocketKind, std::string_view echo) { came += echo.size(); };
    WebSocketClientOptions client_options;
    client_options.socket = options;
    WebSocketClient client(loop(), std::move(callbacks), client_options);
    ASSERT_TRUE(client.connect(url()));
    ASSERT_TRUE(run_until([&] { return came > 0; }));
    came = 0;
    const size_t before = uncounted();
    ASSERT_TRUE(handle.send_binary(message));
    ASSERT_TRUE(run_until([&] { return came == kMessageBytes; }));
    EXPECT_LT(uncounted(), before + kMessageBytes / 4);
  }
};

TEST_P(MemoryOfMessages, is_freed_when_they_have_been_shown) { send_one({.message_limit_bytes = kMessageBytes}); }

TEST_P(MemoryOfMessages, is_freed_if_a_connection_has_its_own_codec) {
  send_one(
      {.message_limit_bytes = kMessageBytes, .deflate = {.enabled = true, .context_takeover = true, .least_bytes = 1}});
}

TEST_P(MemoryOfMessages, is_freed_if_the_loop_has_the_codec) {
  send_one({.message_limit_bytes = kMessageBytes, .deflate = {.enabled = true, .least_bytes = 1}});
}

TEST_P(MemoryOfMessages, is_counted_while_they_arrive_and_refused_above_the_hard_mark) {
  serve(noting(), {.socket = {.message_limit_bytes = kMessageBytes}});
  test::BytePeer& peer = open_peer();
  const uint64_t before = MemoryBudget::held_bytes();
  // The first frame of a message that never ends: 4,000,000 bytes, masked with zeros.
  peer.send(std::string("\x02\xff\0\0\0\0\0\x3d\x09\0\0\0\0\0", 14));
  const std::string piece(8192, '#');
  for (int i = 0; i < 32; ++i) {
    peer.send(piece);
    settle();
  }
  EXPECT_GT(MemoryBudget::held_bytes(), before + 32 * piece.size() - piece.size());
  const uint64_t held = MemoryBudget::held_bytes();
  MemoryBudget::set({.soft_bytes = held + 64 * 1024, .hard_bytes = held + 128 * 1024});
  for (int i = 0; i < 200 && peer.frames().empty(); ++i) {
    peer.send(piece);
    settle();
  }
  EXPECT_THAT(std::string(peer.frames()), testing::HasSubstr("the process holds too much memory"));
  ASSERT_TRUE(run_until([&] { return count("close 1013 the process holds too much memory") == 1; }));
  EXPECT_LT(MemoryBudget::held_bytes(), held);
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(MemoryOfMessages);

}  // namespace
}  // namespace peal
