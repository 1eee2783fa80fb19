// SPDX-License-Identifier: BSD-3-Clause
// Helpers that make WebSocket frames, and that describe what a WebSocketReader reports for some bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/wire/websocket/websocket_reader.h>
#include <tests/support/guarded_bytes.h>

namespace peal::test {

inline std::string websocket_frame(const WebSocketHead& head, std::string_view payload) {
  Buffer output;
  append_websocket_frame(output, head, payload);
  return output.to_string();
}
// Returns a masked frame, as a client sends it.
inline std::string client_frame(WebSocketOpcode opcode, std::string_view payload, bool fin = true) {
  return websocket_frame({.opcode = opcode, .fin = fin, .masked = true, .key = 0x5a827999}, payload);
}
inline std::string server_frame(WebSocketOpcode opcode, std::string_view payload, bool fin = true) {
  return websocket_frame({.opcode = opcode, .fin = fin}, payload);
}

struct WebSocketRead {
  std::vector<std::size_t> cuts;  // the offsets at which the second and later pieces begin
  std::optional<WebSocketDeflateTerms> deflate;
  std::size_t limit_bytes = 1000;
};

// Parses `bytes` and returns a text that describes each event of the reader, for example "text Hello|ping |". If the
// reader has found a fault, "fault: " and the name of the fault follow at the end of the text. Each piece of the input
// ends at an unmapped page, so a read beyond the piece crashes.
inline std::string read_websocket(WebSocketRole role, std::string_view bytes, const WebSocketRead& read = {}) {
  constexpr std::string_view kNames[] = {"", "text ", "binary ", "ping ", "pong ", "close "};
  WebSocketWorkspace workspace;
  WebSocketReader reader(role, read.limit_bytes, workspace, read.deflate);
  GuardedBytes guarded(bytes.size() + 1);
  std::string said;
  std::size_t at = 0;
  for (std::size_t piece = 0; piece <= read.cuts.size(); ++piece) {
    const std::size_t next = piece < read.cuts.size() ? read.cuts[piece] : bytes.size();
    std::string_view left = guarded.hold(bytes.substr(at, next - at));
    at = next;
    for (;;) {
      left.remove_prefix(reader.step(left));
      if (reader.event() == WebSocketEvent::kNone) break;
      said.append(kNames[static_cast<std::size_t>(reader.event())]).append(reader.payload()).append("|");
    }
    PEAL_ASSERT(left.empty(), "the reader did not consume {} bytes", left.size());
  }
  if (reader.fault() != WebSocketFault::kNone) said.append("fault: ").append(to_string(reader.fault()));
  return said;
}

}  // namespace peal::test
