// SPDX-License-Identifier: BSD-3-Clause
// WebSocket frames. What a reader returns must not depend on how the bytes are cut, and the size of a message must be
// limited. The first byte of an input chooses the side that reads and the terms of compression. The second byte chooses
// the length of the pieces.
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
    const std::string piece(input.substr(at, piece_bytes));  // a copy, so the sanitizer finds reads beyond its end
    std::string_view left = piece;
    for (;;) {
      left.remove_prefix(reader.step(left));
      const std::string_view payload = reader.payload();
      if (reader.event() == WebSocketEvent::kNone) break;
      PEAL_ASSERT(payload.size() <= kMostMessageBytes, "a payload of {} bytes is over the limit", payload.size());
      PEAL_ASSERT(reader.event() != WebSocketEvent::kText || is_utf8(payload), "a text of {} bytes is not UTF-8",
                  payload.size());
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
  PEAL_ASSERT(peal::what_is_said(input, piece_bytes, data[0]) == whole, "pieces of {} bytes are read differently",
              piece_bytes);
  return 0;
}
