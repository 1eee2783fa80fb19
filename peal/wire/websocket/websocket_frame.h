// SPDX-License-Identifier: BSD-3-Clause
// Functions that read and write the frames of WebSocket (RFC 6455 5): their heads, the mask over the payload of a
// client's frames, and the payload of a Close frame. WebSocketFault lists the faults of a peer. Pure functions; any
// thread.
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

// A side of the connection. A client must mask the payload that it sends, and a server must not (RFC 6455 5.1).
enum class WebSocketRole : uint8_t { kServer, kClient };

enum class WebSocketOpcode : uint8_t {
  kContinuation = 0x0,
  kText = 0x1,
  kBinary = 0x2,
  kClose = 0x8,
  kPing = 0x9,
  kPong = 0xa,
};

// Returns true for Close, Ping and Pong.
constexpr bool is_control(WebSocketOpcode opcode) { return opcode >= WebSocketOpcode::kClose; }

// Codes of a Close frame (RFC 6455 7.4.1). Libraries and applications define codes of their own from 3000 to 4999.
struct WebSocketCode {
  static constexpr uint16_t kNormal = 1000;
  static constexpr uint16_t kGoingAway = 1001;
  static constexpr uint16_t kProtocolError = 1002;
  static constexpr uint16_t kUnsupportedData = 1003;
  static constexpr uint16_t kNoCode = 1005;    // never sent; means that the peer's Close frame had no code
  static constexpr uint16_t kAbnormal = 1006;  // never sent; means that the connection ended without a Close frame
  static constexpr uint16_t kBadData = 1007;
  static constexpr uint16_t kPolicy = 1008;
  static constexpr uint16_t kTooLarge = 1009;
  static constexpr uint16_t kInternalError = 1011;
  static constexpr uint16_t kTryAgainLater = 1013;
};

// Returns true if a Close frame may contain this code (RFC 6455 7.4, and the codes that IANA has registered since).
constexpr bool may_be_sent_in_close(uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

// The ways in which a peer can violate the protocol. The connection is then closed with the code of close_code_of().
enum class WebSocketFault : uint8_t {
  kNone,
  kUnmasked,           // a client's frame without a mask (RFC 6455 5.1)
  kMasked,             // a server's frame with a mask (5.1)
  kReservedBits,       // RSV1, RSV2 or RSV3 is set, but no extension gives it a meaning (5.2)
  kUnknownOpcode,      // 0x3 to 0x7 or 0xb to 0xf (5.2)
  kFragmentedControl,  // a control frame without FIN (5.5)
  kLongControl,        // a control frame with a payload of more than 125 bytes (5.5)
  kLengthForm,         // a length in more bytes than it needs, or of 2^63 or more (5.2)
  kNothingToContinue,  // a continuation frame outside a message (5.4)
  kUnfinishedMessage,  // a new message before the last one has ended (5.4)
  kClosePayload,       // a Close payload of one byte, which is half a code (5.5.1)
  kCloseCode,          // a Close code that must not be sent (7.4)
  kBadUtf8,            // a text message or a Close reason that is not UTF-8 (8.1)
  kBadDeflate,         // compressed data that is not valid (RFC 7692 7.2.2)
  kTooLarge,           // a message beyond the limit, in its compressed or decompressed form
};
inline constexpr int kWebSocketFaults = 15;

// Returns the code with which the connection is closed after this fault.
uint16_t close_code_of(WebSocketFault fault);

// Returns a short phrase for the fault. The Close frame contains it as the reason.
std::string_view to_string(WebSocketFault fault);

// The head of a frame.
struct WebSocketHead {
  WebSocketOpcode opcode = WebSocketOpcode::kText;
  bool fin = true;             // true if this is the last frame of its message
  bool compressed = false;     // RSV1: the message is compressed (RFC 7692 6)
  bool masked = false;         // true if the payload is masked with `key`
  uint32_t key = 0;            // the four bytes of the key, in memory in the same order as on the wire
  uint64_t payload_bytes = 0;  // below 2^63
};

inline constexpr size_t kWebSocketHeadBytes = 14;      // the largest head
inline constexpr size_t kWebSocketControlBytes = 125;  // the largest payload of a control frame (RFC 6455 5.5)

// The largest possible limit for a received message, because zlib's counters have 32 bits.
inline constexpr size_t kMostWebSocketMessageBytes = INT32_MAX / 2;

// Writes the head to `to`, which must have room for kWebSocketHeadBytes. Returns how many bytes were written.
size_t write_websocket_head(char* to, const WebSocketHead& head);

// Returns the size of a head, 2 to 14 bytes. `second` is the second byte of the head.
size_t websocket_head_bytes(char second);

// Reads the head of a frame. `reader` is the role of the side that has received the frame. `bytes` must have
// websocket_head_bytes(bytes[1]) bytes. Checks everything in the head; only the order of frames (RFC 6455 5.4) is left
// to the caller. `deflates` must be true if permessage-deflate was agreed on; RSV1 is then allowed in the first frame
// of a message. `head` is complete only if the result is kNone.
WebSocketFault read_websocket_head(const char* bytes, WebSocketRole reader, bool deflates, WebSocketHead& head);

// Copies `from` to `to` and applies the mask with `key`. The same operation masks and unmasks (RFC 6455 5.3). `offset`
// is the position of the first byte of `from` in the payload of its frame. `to` may be from.data().
void mask_websocket_bytes(char* to, std::string_view from, uint32_t key, uint64_t offset = 0);

// Appends a frame with a copy of `payload`, which is masked with head.key if head.masked is true. head.payload_bytes is
// ignored.
void append_websocket_frame(Buffer& output, WebSocketHead head, std::string_view payload);

// The content of a Close frame. The code is kNoCode if the frame has no payload.
struct WebSocketClose {
  uint16_t code = WebSocketCode::kNoCode;
  std::string_view reason;  // a view into the payload
};

// Reads the payload of a Close frame. Returns kClosePayload, kCloseCode or kBadUtf8 if the payload is not valid.
std::expected<WebSocketClose, WebSocketFault> read_websocket_close(std::string_view payload);

// Returns the payload of a Close frame with this code and reason, at most 125 bytes. A longer reason is cut between two
// characters. A reason that is not UTF-8 is left out. Codes that a frame must not contain are replaced:
// - kNoCode gives an empty payload, which the peer reads as kNoCode;
// - kAbnormal and all other such codes become kInternalError.
std::string websocket_close_payload(uint16_t code, std::string_view reason);

}  // namespace peal
