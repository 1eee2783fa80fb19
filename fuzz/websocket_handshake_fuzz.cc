// SPDX-License-Identifier: BSD-3-Clause
// The opening handshake of WebSocket. A client must survive any answer of a server. If a server accepts an offer of
// permessage-deflate, a client must understand the server's answer in the same way.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/websocket/websocket_handshake.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace peal;
  // A copy, so that the sanitizer finds reads beyond its end.
  const std::string text(reinterpret_cast<const char*>(data), size);
  const WebSocketDeflateOptions keeps{.enabled = true, .context_takeover = true};
  WebSocketRequest request{.key = "dGhlIHNhbXBsZSBub25jZQ==", .protocols = {"chat"}, .deflate = keeps};
  if (const auto agreed = read_websocket_response(text, request)) {
    PEAL_ASSERT(agreed->protocol.empty() || agreed->protocol == "chat", "the protocol {} was not offered",
                agreed->protocol);
  }
  WebSocketRequestFields fields;
  for (const std::string_view name : {"Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version",
                                      "Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions"}) {
    fields.take({.name = name, .value = text});
  }
  PEAL_ASSERT(fields.refusal(true, 1).has_value(), "a request is accepted with {} bytes in every field", size);
  fields.choose_protocol(request.protocols);
  if (const auto choice = choose_websocket_deflate(text, keeps)) {
    const auto understood = read_websocket_deflate_answer(choice->answer, keeps);
    PEAL_ASSERT(understood && *understood == choice->terms, "a client understands \"{}\" differently", choice->answer);
  }
  return 0;
}
