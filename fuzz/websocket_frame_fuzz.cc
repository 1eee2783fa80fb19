// SPDX-License-Identifier: BSD-3-Clause
// WebSocket: what a reader says must not depend on how the bytes were cut, and what it takes in is bounded. The first
// byte of an input says which side reads and with which terms, the second how long the pieces are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/websocket/websocket_reader.h>

namespace peal {
namespace {

constexpr size_t kMostMessageBytes = 3000;

std::string what_is_said(std::string_view input, size_t piece_bytes, uint8_t options) {
  std::optional<WebSocketDeflateTerms> deflate;
  if ((options & 2) != 0) {
    const bool forgets = (options & 4) != 0;
    deflate = WebSocketDeflateTerms{.server_no_context_takeover = forgets, .client_no_context_takeover = forgets};
  }
  WebSocketWorkspace workspace;
  WebSocketReader reader((options & 1) != 0 ? WebSocketRole::kClient : WebSocketRole::kServer, kMostMessageBytes,
                         workspace, deflate);
  std::string said;
  for (size_t at = 0; at < input.size(); at += piece_bytes) {
    const std::string piece(input.substr(at, piece_bytes));  // in memory of its own, which the sanitizer guards
    std::string_view left = piece;
    for (;;) {
      left.remove_prefix(reader.step(left));
      const std::string_view payload = reader.payload();
      if (reader.event() == WebSocketEvent::kNone) break;
      PEAL_ASSERT(payload.size() <= kMostMessageBytes, "a message of {} bytes", payload.size());
      PEAL_ASSERT(reader.event() != WebSocketEvent::kText || is_utf8(payload), "{} bytes are no text", payload.size());
      said.append(1, static_cast<char>(reader.event())).append(payload).append("|");
    }
    PEAL_ASSERT(left.empty(), "{} bytes were not taken", left.size());
  }
  return said.append(to_string(reader.fault())).append(reader.busy() ? ", busy" : "");
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::string whole = peal::what_is_said(input, std::max<size_t>(input.size(), 1), data[0]);
  const size_t piece_bytes = size_t{data[1]} + 1;
  PEAL_ASSERT(peal::what_is_said(input, piece_bytes, data[0]) == whole, "pieces of {} bytes read otherwise",
              piece_bytes);
  return 0;
}
