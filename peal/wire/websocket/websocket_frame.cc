// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/websocket_frame.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <peal/wire/parts/http_text.h>
#include <peal/wire/utf8.h>

namespace peal {
namespace {

constexpr uint8_t kFinBit = 0x80;
constexpr uint8_t kDeflateBit = 0x40;  // RSV1, which marks a compressed message
constexpr uint8_t kOtherReservedBits = 0x30;
constexpr uint8_t kOpcodeBits = 0x0f;
constexpr uint8_t kMaskBit = 0x80;
constexpr uint8_t kLengthBits = 0x7f;
constexpr uint8_t kLengthIn16 = 126;
constexpr uint8_t kLengthIn64 = 127;

// Returns the key rotated so that its first byte in memory masks the byte at `offset` of the payload.
uint32_t turned_key(uint32_t key, uint64_t offset) {
  const int bits = static_cast<int>(offset % 4) * 8;
  return std::endian::native == std::endian::little ? std::rotr(key, bits) : std::rotl(key, bits);
}

size_t extended_length_bytes(uint8_t length) {
  if (length < kLengthIn16) return 0;
  return length == kLengthIn16 ? 2 : 8;
}

bool is_known_opcode(uint8_t opcode) { return opcode <= 0x2 || (opcode >= 0x8 && opcode <= 0xa); }

}  // namespace

uint16_t close_code_of(WebSocketFault fault) {
  switch (fault) {
    case WebSocketFault::kBadUtf8:
    case WebSocketFault::kBadDeflate: return WebSocketCode::kBadData;
    case WebSocketFault::kTooLarge: return WebSocketCode::kTooLarge;
    default: return WebSocketCode::kProtocolError;
  }
}

std::string_view to_string(WebSocketFault fault) {
  switch (fault) {
    case WebSocketFault::kNone: return "no fault";
    case WebSocketFault::kUnmasked: return "a client's frame without a mask";
    case WebSocketFault::kMasked: return "a server's frame with a mask";
    case WebSocketFault::kReservedBits: return "reserved bits are set";
    case WebSocketFault::kUnknownOpcode: return "an unknown opcode";
    case WebSocketFault::kFragmentedControl: return "a control frame in fragments";
    case WebSocketFault::kLongControl: return "a control frame of more than 125 bytes";
    case WebSocketFault::kLengthForm: return "a length in the wrong form";
    case WebSocketFault::kNothingToContinue: return "a continuation frame outside a message";
    case WebSocketFault::kUnfinishedMessage: return "a new message before the last one ended";
    case WebSocketFault::kClosePayload: return "a Close payload of one byte";
    case WebSocketFault::kCloseCode: return "a close code that must not be sent";
    case WebSocketFault::kBadUtf8: return "text that is not UTF-8";
    case WebSocketFault::kBadDeflate: return "compressed data that is broken";
    case WebSocketFault::kTooLarge: return "a message beyond the limit";
  }
  return "unknown";
}

size_t write_websocket_head(char* to, const WebSocketHead& head) {
  const auto first = static_cast<uint8_t>((head.fin ? kFinBit : 0) | (head.compressed ? kDeflateBit : 0) |
                                          static_cast<uint8_t>(head.opcode));
  const uint8_t mask = head.masked ? kMaskBit : 0;
  const uint64_t length = head.payload_bytes;
  const auto short_length = static_cast<uint8_t>(length < kLengthIn16   ? length
                                                 : length <= UINT16_MAX ? kLengthIn16
                                                                        : kLengthIn64);
  size_t at = 0;
  to[at++] = static_cast<char>(first);
  to[at++] = static_cast<char>(mask | short_length);
  for (size_t left = extended_length_bytes(short_length); left > 0; --left) {
    to[at++] = static_cast<char>(length >> (8 * (left - 1)));
  }
  if (head.masked) {
    std::memcpy(to + at, &head.key, sizeof(head.key));
    at += sizeof(head.key);
  }
  return at;
}

size_t websocket_head_bytes(char second) {
  const auto byte = static_cast<uint8_t>(second);
  return 2 + extended_length_bytes(byte & kLengthBits) + ((byte & kMaskBit) != 0 ? 4 : 0);
}

WebSocketFault read_websocket_head(const char* bytes, WebSocketRole reader, bool deflates, WebSocketHead& head) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  const auto second = static_cast<uint8_t>(bytes[1]);
  const uint8_t opcode = first & kOpcodeBits;
  if (!is_known_opcode(opcode)) return WebSocketFault::kUnknownOpcode;
  head.opcode = static_cast<WebSocketOpcode>(opcode);
  head.fin = (first & kFinBit) != 0;
  head.compressed = (first & kDeflateBit) != 0;
  head.masked = (second & kMaskBit) != 0;
  const bool begins_message = head.opcode == WebSocketOpcode::kText || head.opcode == WebSocketOpcode::kBinary;
  if ((first & kOtherReservedBits) != 0 || (head.compressed && !(deflates && begins_message))) {
    return WebSocketFault::kReservedBits;
  }
  if (head.masked != (reader == WebSocketRole::kServer)) {
    return head.masked ? WebSocketFault::kMasked : WebSocketFault::kUnmasked;
  }
  const uint8_t short_length = second & kLengthBits;
  if (is_control(head.opcode)) {
    if (!head.fin) return WebSocketFault::kFragmentedControl;
    if (short_length > kWebSocketControlBytes) return WebSocketFault::kLongControl;
  }
  const size_t length_bytes = extended_length_bytes(short_length);
  uint64_t length = length_bytes == 0 ? short_length : 0;
  for (size_t at = 0; at < length_bytes; ++at) length = length << 8 | static_cast<uint8_t>(bytes[2 + at]);
  const bool minimal = length_bytes == 0 || length > (length_bytes == 2 ? kWebSocketControlBytes : UINT16_MAX);
  if (!minimal || length > INT64_MAX) return WebSocketFault::kLengthForm;
  head.payload_bytes = length;
  head.key = head.masked ? detail::load_word<uint32_t>(bytes + 2 + length_bytes) : 0;
  return WebSocketFault::kNone;
}

void mask_websocket_bytes(char* to, std::string_view from, uint32_t key, uint64_t offset) {
  const uint32_t turned = turned_key(key, offset);
  const uint64_t twice = uint64_t{turned} << 32 | turned;
  const auto mask_word = [twice](char* target, const char* source) {
    const uint64_t word = detail::load_word<uint64_t>(source) ^ twice;
    std::memcpy(target, &word, sizeof(word));
  };
  const char* at = from.data();
  size_t left = from.size();
  for (; left >= 32; left -= 32, at += 32, to += 32) {
    mask_word(to, at);
    mask_word(to + 8, at + 8);
    mask_word(to + 16, at + 16);
    mask_word(to + 24, at + 24);
  }
  for (; left >= 8; left -= 8, at += 8, to += 8) mask_word(to, at);
  char bytes[sizeof(turned)];
  std::memcpy(bytes, &turned, sizeof(turned));
  for (size_t i = 0; i < left; ++i) to[i] = static_cast<char>(at[i] ^ bytes[i % 4]);
}

void append_websocket_frame(Buffer& output, WebSocketHead head, std::string_view payload) {
  head.payload_bytes = payload.size();
  char bytes[kWebSocketHeadBytes];
  output.append(std::string_view(bytes, write_websocket_head(bytes, head)));
  if (!head.masked) return output.append(payload);
  for (uint64_t offset = 0; offset < payload.size();) {
    const size_t left = payload.size() - offset;
    const auto room = output.prepare(std::min<size_t>(left, kSmallBlockBytes));
    const size_t size = std::min(left, room.size());
    mask_websocket_bytes(reinterpret_cast<char*>(room.data()), payload.substr(offset, size), head.key, offset);
    output.commit(size);
    offset += size;
  }
}

std::expected<WebSocketClose, WebSocketFault> read_websocket_close(std::string_view payload) {
  if (payload.empty()) return WebSocketClose{};
  if (payload.size() == 1) return std::unexpected(WebSocketFault::kClosePayload);
  const auto code = static_cast<uint16_t>(static_cast<uint8_t>(payload[0]) << 8 | static_cast<uint8_t>(payload[1]));
  if (!may_be_sent_in_close(code)) return std::unexpected(WebSocketFault::kCloseCode);
  payload.remove_prefix(2);
  if (!is_utf8(payload)) return std::unexpected(WebSocketFault::kBadUtf8);
  return WebSocketClose{.code = code, .reason = payload};
}

std::string websocket_close_payload(uint16_t code, std::string_view reason) {
  if (code == WebSocketCode::kNoCode) return {};
  if (!may_be_sent_in_close(code)) code = WebSocketCode::kInternalError;
  if (!is_utf8(reason)) reason = {};
  size_t size = std::min(reason.size(), kWebSocketControlBytes - 2);
  const auto is_inner_byte = [&](size_t at) { return (static_cast<uint8_t>(reason[at]) & 0xc0) == 0x80; };
  while (size > 0 && size < reason.size() && is_inner_byte(size)) --size;
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code)};
  return payload.append(reason.substr(0, size));
}

}  // namespace peal
