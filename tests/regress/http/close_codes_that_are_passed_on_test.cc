// SPDX-License-Identifier: BSD-3-Clause
// A relay between two WebSockets closes the second one with the code that on_close reported for the first one. This
// code may be 1005 or 1006, which no frame may contain (RFC 6455 7.4.1). Such a close() stopped the process, and a peer
// could cause it by just hanging up.
#include <gmock/gmock.h>

#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

class CloseCodesThatArePassedOn : public test::WebSocketTest {};

TEST_P(CloseCodesThatArePassedOn, are_sent_as_the_nearest_code_that_a_frame_may_contain) {
  struct {
    uint16_t code;
    std::string_view sent;
  } const kCases[] = {{1000, std::string_view("\x03\xe8", 2)},
                      {4999, std::string_view("\x13\x87", 2)},
                      {1005, {}},
                      {1006, std::string_view("\x03\xf3", 2)},
                      {1015, std::string_view("\x03\xf3", 2)},
                      {0, std::string_view("\x03\xf3", 2)},
                      {999, std::string_view("\x03\xf3", 2)},
                      {2000, std::string_view("\x03\xf3", 2)},
                      {65535, std::string_view("\x03\xf3", 2)}};
  for (const auto& [code, sent] : kCases) {
    WebSocketCallbacks callbacks;
    callbacks.on_open = [&code](WebSocket& socket) { socket.close(code); };
    serve(std::move(callbacks));
    const test::BytePeer& peer = open_peer();
    const std::string frame = test::server_frame(WebSocketOpcode::kClose, sent);
    EXPECT_TRUE(run_until([&] { return peer.frames() == frame; })) << code;
  }
}

TEST_P(CloseCodesThatArePassedOn, may_come_from_a_peer_that_hung_up) {
  WebSocketHandle first;
  WebSocketHandle second;
  WebSocketCallbacks callbacks;
  callbacks.on_open = [&](WebSocket& socket) { (first ? second : first) = socket.handle(); };
  callbacks.on_close = [&](WebSocket&, uint16_t code, std::string_view reason) {
    second.close(code, std::string(reason));
  };
  serve(std::move(callbacks));
  test::BytePeer& one = open_peer();
  const test::BytePeer& other = open_peer();
  ASSERT_TRUE(run_until([&] { return static_cast<bool>(second); }));
  one.connection().abort();
  ASSERT_TRUE(run_until([&] { return !other.frames().empty(); }));
  EXPECT_THAT(std::string(other.frames()), testing::HasSubstr("\x03\xf3"));
}

// The ping is one byte longer than a control frame may be, and the reason is not UTF-8.
TEST_P(CloseCodesThatArePassedOn, a_long_ping_or_an_invalid_reason_affects_only_its_own_socket) {
  WebSocketCallbacks callbacks;
  callbacks.on_message = [](WebSocket& socket, WebSocketKind, std::string_view message) {
    if (message == "close") {
      socket.close(1000, "\xff");
    } else {
      static_cast<void>(socket.ping(message));
    }
  };
  serve(std::move(callbacks));
  const test::BytePeer& pinged = open_peer();
  pinged.send(test::client_frame(WebSocketOpcode::kBinary, std::string(126, 'p')));
  EXPECT_TRUE(run_until([&] { return pinged.ended; }));
  const test::BytePeer& closed = open_peer();
  closed.send(test::client_frame(WebSocketOpcode::kBinary, "close"));
  const std::string frame = test::server_frame(WebSocketOpcode::kClose, std::string_view("\x03\xe8", 2));
  EXPECT_TRUE(run_until([&] { return closed.frames() == frame; }));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(CloseCodesThatArePassedOn);

}  // namespace
}  // namespace peal
