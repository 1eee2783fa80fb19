// SPDX-License-Identifier: BSD-3-Clause
// WebSocket frames as tests write them, and what a reader says of such bytes, as one line of text.
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
// As a client sends it, masked.
inline std::string client_frame(WebSocketOpcode opcode, std::string_view payload, bool fin = true) {
  return websocket_frame({.opcode = opcode, .fin = fin, .masked = true, .key = 0x5a827999}, payload);
}
inline std::string server_frame(WebSocketOpcode opcode, std::string_view payload, bool fin = true) {
  return websocket_frame({.opcode = opcode, .fin = fin}, payload);
}

struct WebSocketRead {
  std::vector<std::size_t> cuts;  // the offsets at which a new piece begins, in order
  std::optional<WebSocketDeflateTerms> deflate;
  std::size_t limit_bytes = 1000;
};

// "text Hello|ping |", and after a fault its phrase. Each piece lies against an unmapped page.
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
    PEAL_ASSERT(left.empty(), "{} bytes were not taken", left.size());
  }
  if (reader.fault() != WebSocketFault::kNone) said.append("fault: ").append(to_string(reader.fault()));
  return said;
}

}  // namespace peal::test
