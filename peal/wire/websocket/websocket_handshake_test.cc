// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/websocket_handshake.h>

#include <gtest/gtest.h>

namespace peal {
namespace {

using Fields = std::vector<HttpField>;

// The key and the answer of the example in RFC 6455 1.3.
constexpr std::string_view kKey = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view kAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

WebSocketRequestFields collect(const Fields& fields) {
  WebSocketRequestFields collected;
  for (const HttpField& field : fields) collected.take(field);
  return collected;
}
Fields good_request() {
  return {{"Host", "server.example.com"},        {"upgrade", "WebSocket"},
          {"CONNECTION", "keep-alive, Upgrade"}, {"Sec-WebSocket-Key", kKey},
          {"Origin", "http://example.com"},      {"Sec-WebSocket-Protocol", "chat, superchat"},
          {"Sec-WebSocket-Version", "13"}};
}
// Returns the status for good_request() with one field changed. An empty `value` removes the field.
int status_with(std::string_view name, std::string_view value) {
  Fields fields = good_request();
  std::erase_if(fields, [&](const HttpField& field) { return field.name == name; });
  if (!value.empty()) fields.push_back({name, value});
  const auto refusal = collect(fields).refusal(true, 1);
  return refusal ? refusal->status : 101;
}

TEST(WebSocketHandshake, the_accept_of_the_standard) { EXPECT_EQ(websocket_accept(kKey), kAccept); }

TEST(WebSocketHandshake, a_request_of_the_standard) {
  const WebSocketRequestFields request = collect(good_request());
  EXPECT_FALSE(request.refusal(true, 1));
  EXPECT_EQ(request.key(), kKey);
  EXPECT_EQ(request.origin(), "http://example.com");
  const std::vector<std::string> known{"superchat", "chat"};
  EXPECT_EQ(request.choose_protocol(known), "superchat");
  EXPECT_EQ(request.choose_protocol({}), "");
  EXPECT_EQ(request.choose_protocol(std::vector<std::string>{"Chat"}), "") << "names have a case";
  EXPECT_EQ(request.refusal(false, 1)->status, 400);
  EXPECT_EQ(request.refusal(true, 0)->status, 400);
}

TEST(WebSocketHandshake, requests_that_are_refused) {
  EXPECT_EQ(status_with("X-More", "1"), 101);
  EXPECT_EQ(status_with("upgrade", ""), 426);
  EXPECT_EQ(status_with("upgrade", "h2c"), 426);
  EXPECT_EQ(status_with("upgrade", "h2c, websocket"), 101);
  EXPECT_EQ(status_with("CONNECTION", ""), 426);
  EXPECT_EQ(status_with("CONNECTION", "close"), 426);
  EXPECT_EQ(status_with("Sec-WebSocket-Version", ""), 426);
  EXPECT_EQ(status_with("Sec-WebSocket-Version", "8"), 426);
  EXPECT_EQ(status_with("Sec-WebSocket-Key", ""), 400);
  EXPECT_EQ(status_with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ="), 400);
  EXPECT_EQ(status_with("Sec-WebSocket-Key", "c2hvcnQ="), 400);
  EXPECT_EQ(status_with("sec-websocket-key", kKey), 400) << "a second key";
}

WebSocketRequest asked() {
  return {.target = "/chat?room=1", .host = "example.com:81", .key = std::string(kKey), .protocols = {"chat", "v2"}};
}
std::string head_of(std::string_view more = {}, std::string_view accept = kAccept) {
  return std::string("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
      .append("Sec-WebSocket-Accept: ")
      .append(accept)
      .append("\r\n")
      .append(more)
      .append("\r\n");
}
std::string refusal_of(std::string_view head) {
  const auto agreed = read_websocket_response(head, asked());
  return agreed ? "none" : agreed.error().why;
}

TEST(WebSocketHandshake, the_client_s_request_is_one_the_server_takes) {
  WebSocketRequest request = asked();
  request.origin = "http://here";
  request.deflate.enabled = true;
  request.fields = {{"Authorization", "Basic eDp5"}};
  const auto text = compose_websocket_request(request);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text,
            "GET /chat?room=1 HTTP/1.1\r\nHost: example.com:81\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nOrigin: http://here\r\n"
            "Sec-WebSocket-Protocol: chat, v2\r\nSec-WebSocket-Extensions: permessage-deflate; "
            "server_no_context_takeover; client_no_context_takeover; client_max_window_bits\r\n"
            "Authorization: Basic eDp5\r\n\r\n");
  request.protocols = {"chat", "chat"};
  EXPECT_FALSE(compose_websocket_request(request));
  request.protocols = {"two words"};
  EXPECT_FALSE(compose_websocket_request(request));
  request.protocols = {};
  request.target = "/with space";
  EXPECT_FALSE(compose_websocket_request(request));
}

TEST(WebSocketHandshake, answers_that_are_taken) {
  EXPECT_EQ(read_websocket_response(head_of(), asked())->protocol, "");
  EXPECT_EQ(read_websocket_response(head_of("Sec-WebSocket-Protocol: v2\r\n"), asked())->protocol, "v2");
  WebSocketRequest request = asked();
  request.deflate = {.enabled = true, .context_takeover = true};
  const auto agreed = read_websocket_response(head_of("Sec-WebSocket-Extensions: permessage-deflate\r\n"), request);
  ASSERT_TRUE(agreed);
  EXPECT_EQ(agreed->deflate, WebSocketDeflateTerms{});
}

TEST(WebSocketHandshake, answers_that_are_refused) {
  EXPECT_EQ(refusal_of(head_of()), "none");
  EXPECT_EQ(refusal_of("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), "the server answered 404");
  EXPECT_EQ(refusal_of("HTTP/1.0 101 Switching\r\n\r\n"), "the answer is not HTTP/1.1");
  EXPECT_EQ(refusal_of("SSH-2.0-OpenSSH_9.2\r\n\r\n"), "the answer is not HTTP/1.1");
  EXPECT_EQ(refusal_of("HTTP/1.1 101 X\nUpgrade: websocket\n\n"), "the answer is not HTTP/1.1");
  EXPECT_EQ(refusal_of("HTTP/1.1 101 X\r\nbad field\r\n\r\n"), "the answer is not HTTP/1.1");
  EXPECT_EQ(refusal_of(""), "the answer is not HTTP/1.1");
  EXPECT_EQ(refusal_of("HTTP/1.1 101 X\r\nConnection: Upgrade\r\n\r\n"), "the server did not change to WebSocket");
  EXPECT_EQ(refusal_of("HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n"), "the server did not change to WebSocket");
  EXPECT_EQ(refusal_of(head_of({}, "s3pPLMBiTxaQ9kYGzzhZRbK+xOp=")), "Sec-WebSocket-Accept is wrong");
  EXPECT_EQ(refusal_of(head_of("Sec-WebSocket-Accept: x\r\n")),
            "the answer repeats Sec-WebSocket-Accept or Sec-WebSocket-Protocol");
  EXPECT_EQ(refusal_of(head_of("Sec-WebSocket-Protocol: other\r\n")),
            "the server chose a subprotocol that was not offered");
  EXPECT_EQ(refusal_of(head_of("Sec-WebSocket-Extensions: permessage-deflate\r\n")),
            "the server chose an extension that was not offered");
}

}  // namespace
}  // namespace peal
