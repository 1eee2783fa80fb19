// SPDX-License-Identifier: BSD-3-Clause
// The server's side of the handshake: the terms that are agreed on, and the requests that are refused.
#include <peal/http/websocket/websocket_endpoint.h>

#include <gmock/gmock.h>

#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

using test::BytePeer;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class WebSocketEndpointSuite : public test::WebSocketTest {
 protected:
  // Returns the head and the body of the server's answer.
  std::string answer_to(std::string_view request) {
    BytePeer& peer = connect_peer();
    peer.send(request);
    EXPECT_TRUE(run_until([&] { return peer.received.find("\r\n\r\n") != std::string::npos; }));
    settle();
    return peer.received;
  }
  static std::string without(std::string request, std::string_view field) {
    const size_t at = request.find(field);
    return request.erase(at, request.find("\r\n", at) + 2 - at);
  }
};

TEST_P(WebSocketEndpointSuite, requests_that_are_no_handshake) {
  serve(noting());
  const std::string old = answer_to(without(handshake("Sec-WebSocket-Version: 8\r\n"), "Sec-WebSocket-Version: 13"));
  EXPECT_THAT(old, StartsWith("HTTP/1.1 426 "));
  EXPECT_THAT(old, HasSubstr("Connection: Upgrade"));
  EXPECT_THAT(old, HasSubstr("Sec-WebSocket-Version: 13\r\n"));
  EXPECT_THAT(old, HasSubstr("Upgrade: websocket\r\n"));
  EXPECT_THAT(answer_to("GET /ws HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 426 "));
  EXPECT_THAT(answer_to(without(handshake(), "Sec-WebSocket-Key")), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(handshake("Content-Length: 1\r\n") + "x"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to("POST" + handshake().substr(3)), StartsWith("HTTP/1.1 405 "));
  EXPECT_TRUE(journal.empty());
}

TEST_P(WebSocketEndpointSuite, a_connection_that_was_refused_may_ask_again) {
  serve(noting());
  BytePeer& peer = connect_peer();
  peer.send(without(handshake(), "Sec-WebSocket-Key") + handshake());
  EXPECT_TRUE(run_until([&] { return peer.received.find("HTTP/1.1 101 ") != std::string::npos; }));
  EXPECT_THAT(peer.received, StartsWith("HTTP/1.1 400 "));
}

TEST_P(WebSocketEndpointSuite, the_server_s_most_wanted_subprotocol) {
  serve({.on_open = [&](WebSocket& socket) { journal.push_back(socket.protocol()); }},
        {.protocols = {"v3", "v2", "v1"}});
  EXPECT_THAT(answer_to(handshake("Sec-WebSocket-Protocol: v1, v2\r\nSec-WebSocket-Protocol: v0\r\n")),
              HasSubstr("Sec-WebSocket-Protocol: v2\r\n"));
  EXPECT_THAT(answer_to(handshake("Sec-WebSocket-Protocol: other\r\n")), Not(HasSubstr("Sec-WebSocket-Protocol")));
  EXPECT_THAT(journal, testing::ElementsAre("v2", ""));
}

TEST_P(WebSocketEndpointSuite, pages_of_other_origins_are_refused) {
  serve(noting(), {.origins = {"https://example.com", "http://localhost:8080"}});
  EXPECT_THAT(answer_to(handshake("Origin: https://example.com\r\n")), StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(answer_to(handshake("Origin: https://evil.example\r\n")), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer_to(handshake("Origin: null\r\n")), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer_to(handshake()), StartsWith("HTTP/1.1 101 ")) << "no browser";
}

TEST_P(WebSocketEndpointSuite, compression_is_agreed_on_where_both_want_it) {
  serve(noting(), {.socket = {.deflate = {.enabled = true}}});
  EXPECT_THAT(answer_to(handshake("Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n")),
              HasSubstr("Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "
                        "client_no_context_takeover\r\n"));
  EXPECT_THAT(answer_to(handshake("Sec-WebSocket-Extensions: permessage-bzip2\r\n")),
              Not(HasSubstr("Sec-WebSocket-Extensions")));
  EXPECT_THAT(answer_to(handshake("Sec-WebSocket-Extensions: not=a list;;\r\n")),
              Not(HasSubstr("Sec-WebSocket-Extensions")));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(WebSocketEndpointSuite);

}  // namespace
}  // namespace peal
