// SPDX-License-Identifier: BSD-3-Clause
// The frames of WebSocket (RFC 6455 5): their heads, the mask over what clients send, the payload of a Close frame, and
// what can be wrong with all of it. Pure functions; any thread.
//
//   FIN RSV1-3 opcode │ MASK length(7) │ length(16 or 64)? │ key(32)? │ payload ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include <peal/base/memory/buffer.h>

namespace peal {

// Which side of the connection one is on. A client masks what it sends, a server must not (RFC 6455 5.1).
enum class WebSocketRole : uint8_t { kServer, kClient };

enum class WebSocketOpcode : uint8_t {
  kContinuation = 0x0,
  kText = 0x1,
  kBinary = 0x2,
  kClose = 0x8,
  kPing = 0x9,
  kPong = 0xa,
};
constexpr bool is_control(WebSocketOpcode opcode) { return opcode >= WebSocketOpcode::kClose; }

// Codes of a Close frame (RFC 6455 7.4.1); 3000 to 4999 are for libraries and applications.
struct WebSocketCode {
  static constexpr uint16_t kNormal = 1000;
  static constexpr uint16_t kGoingAway = 1001;
  static constexpr uint16_t kProtocolError = 1002;
  static constexpr uint16_t kUnsupportedData = 1003;
  static constexpr uint16_t kNoCode = 1005;    // never sent: the peer's Close frame had none
  static constexpr uint16_t kAbnormal = 1006;  // never sent: the connection ended without a Close frame
  static constexpr uint16_t kBadData = 1007;
  static constexpr uint16_t kPolicy = 1008;
  static constexpr uint16_t kTooLarge = 1009;
  static constexpr uint16_t kInternalError = 1011;
  static constexpr uint16_t kTryAgainLater = 1013;
};
// Whether a Close frame may carry it (RFC 6455 7.4 and the codes IANA has registered since).
constexpr bool may_be_sent_in_close(uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

// What a peer can do wrong. The connection is closed with close_code_of() it.
enum class WebSocketFault : uint8_t {
  kNone,
  kUnmasked,           // a client's frame without a mask (RFC 6455 5.1)
  kMasked,             // a server's with one
  kReservedBits,       // RSV1-3 without an extension that gives them a meaning (5.2)
  kUnknownOpcode,      // 0x3 to 0x7, 0xb to 0xf (5.2)
  kFragmentedControl,  // a control frame without FIN (5.5)
  kLongControl,        // one of more than 125 bytes (5.5)
  kLengthForm,         // a length in more bytes than it needs, or of 64 bits (5.2)
  kNothingToContinue,  // a continuation outside a message (5.4)
  kUnfinishedMessage,  // a new message inside one (5.4)
  kClosePayload,       // a Close payload of one byte (5.5.1)
  kCloseCode,          // a code that must not be sent (7.4)
  kBadUtf8,            // in a text message or a Close reason (8.1)
  kBadDeflate,         // compressed data that is none (RFC 7692 7.2.2)
  kTooLarge,           // a message beyond the limit, compressed or not
};
inline constexpr int kWebSocketFaults = 15;
uint16_t close_code_of(WebSocketFault fault);
// A short plain phrase, which goes into the Close frame.
std::string_view to_string(WebSocketFault fault);

struct WebSocketHead {
  WebSocketOpcode opcode = WebSocketOpcode::kText;
  bool fin = true;          // the last frame of its message
  bool compressed = false;  // RSV1 (RFC 7692 6)
  bool masked = false;
  uint32_t key = 0;            // the four bytes of the mask, in the order in which they stand in memory and on the wire
  uint64_t payload_bytes = 0;  // < 2^63
};
inline constexpr size_t kWebSocketHeadBytes = 14;  // the most a head takes
inline constexpr size_t kWebSocketControlBytes = 125;
// Of a message that is read: what inflates one has counters of 32 bits.
inline constexpr size_t kMostWebSocketMessageBytes = INT32_MAX / 2;

// Writes the head to `to`, which has room for kWebSocketHeadBytes; returns how many it took.
size_t write_websocket_head(char* to, const WebSocketHead& head);
// How many bytes a head takes whose second one this is.
size_t websocket_head_bytes(char second);
// Reads a head from its websocket_head_bytes(), as seen by `reader`. Everything about it is checked but what belongs to
// the sequence of frames. RSV1 is right on the first frame of a message when `deflates`.
WebSocketFault read_websocket_head(const char* bytes, WebSocketRole reader, bool deflates, WebSocketHead& head);

// Writes `from` to `to`, masked or unmasked, which is the same (RFC 6455 5.3). The first byte is the `offset`th of its
// payload. `to` may be from.data().
void mask_websocket_bytes(char* to, std::string_view from, uint32_t key, uint64_t offset = 0);

// Appends a whole frame with a copy of `payload`, masked if the head says so; its payload_bytes are set from it.
void append_websocket_frame(Buffer& output, WebSocketHead head, std::string_view payload);

// What a Close frame says. Without a payload, kNoCode.
struct WebSocketClose {
  uint16_t code = WebSocketCode::kNoCode;
  std::string_view reason;  // a view into the payload
};
std::expected<WebSocketClose, WebSocketFault> read_websocket_close(std::string_view payload);
// The payload that says so, at most 125 bytes: a longer reason is cut between characters, one that is no UTF-8 left
// out. Codes that on_close hands out and no frame may hold become the nearest that one may: kNoCode the empty payload,
// which the peer reads as kNoCode; kAbnormal, 1015 and all others kInternalError.
std::string websocket_close_payload(uint16_t code, std::string_view reason);

}  // namespace peal
