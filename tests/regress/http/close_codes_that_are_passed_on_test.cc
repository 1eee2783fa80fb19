// SPDX-License-Identifier: BSD-3-Clause
// Who relays one WebSocket to another closes the second with what on_close said of the first. That may be 1005 or 1006,
// which no frame may hold (RFC 6455 7.4.1), and it stopped the process, as a peer could have it by just hanging up.
#include <gmock/gmock.h>

#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

class CloseCodesThatArePassedOn : public test::WebSocketTest {};

TEST_P(CloseCodesThatArePassedOn, go_out_as_the_nearest_code_that_may) {
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

TEST_P(CloseCodesThatArePassedOn, end_of_one_peer_is_told_to_the_other) {
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

// One byte more than a control frame holds, and a reason that is no text.
TEST_P(CloseCodesThatArePassedOn, nor_does_a_long_ping_or_an_odd_reason_stop_more_than_its_own_socket) {
  WebSocketCallbacks callbacks;
  callbacks.on_message = [](WebSocket& socket, WebSocketKind, std::string_view message) {
    message == "close" ? socket.close(1000, "\xff") : static_cast<void>(socket.ping(message));
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
