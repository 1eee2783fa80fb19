// SPDX-License-Identifier: BSD-3-Clause
// The opening handshake of WebSocket: whatever a server answers a client survives, and whatever offers of
// permessage-deflate a server accepts, its own answer to them is one a client understands the same way.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/websocket/websocket_handshake.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace peal;
  const std::string text(reinterpret_cast<const char*>(data), size);  // in memory of its own
  const WebSocketDeflateOptions keeps{.enabled = true, .context_takeover = true};
  WebSocketRequest request{.key = "dGhlIHNhbXBsZSBub25jZQ==", .protocols = {"chat"}, .deflate = keeps};
  if (const auto agreed = read_websocket_response(text, request)) {
    PEAL_ASSERT(agreed->protocol.empty() || agreed->protocol == "chat", "{} was not offered", agreed->protocol);
  }
  WebSocketRequestFields fields;
  for (const std::string_view name : {"Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version",
                                      "Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions"}) {
    fields.take({.name = name, .value = text});
  }
  PEAL_ASSERT(fields.refusal(true, 1).has_value(), "{} bytes are taken for every field", size);
  fields.choose_protocol(request.protocols);
  if (const auto choice = choose_websocket_deflate(text, keeps)) {
    const auto understood = read_websocket_deflate_answer(choice->answer, keeps);
    PEAL_ASSERT(understood && *understood == choice->terms, "\"{}\" is understood otherwise", choice->answer);
  }
  return 0;
}
