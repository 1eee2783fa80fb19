// SPDX-License-Identifier: BSD-3-Clause
// WebSocketDeflater compresses and WebSocketInflater decompresses the messages of permessage-deflate (RFC 7692 7.2).
// Both use zlib.
//
// A codec that keeps its context from message to message belongs to one connection. Without context takeover, one codec
// serves all connections of a thread in turn, and a connection has no memory for it. From its first message on a codec
// holds this much memory (zlib.h):
//
//   WebSocketDeflater  2^(window_bits + 2) + 2^17 bytes: 256 KiB with 15 bits; and at most 64 KiB after trim()
//   WebSocketInflater  2^window_bits + 7 KiB: 39 KiB with 15 bits
//
// The codecs do no I/O; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <peal/wire/websocket/websocket_deflate_terms.h>
#include <peal/wire/websocket/websocket_frame.h>

namespace peal {

class WebSocketDeflater {
 public:
  // Returns true if zlib can compress with a window of this size. It cannot with 8 bits (256 bytes).
  static bool can(uint8_t window_bits) { return window_bits >= 9; }

  // Uses a window of 2^window_bits bytes and the level of `options`. If `keeps_context` is true, a message may refer to
  // the messages before it. Throws std::invalid_argument if window_bits is not 9 to 15 or the level is above 9.
  WebSocketDeflater(uint8_t window_bits, bool keeps_context, const WebSocketDeflateOptions& options);
  ~WebSocketDeflater();
  WebSocketDeflater(const WebSocketDeflater&) = delete;
  WebSocketDeflater& operator=(const WebSocketDeflater&) = delete;

  // The largest message, compressed or not, because zlib's counters have 32 bits.
  static constexpr size_t kMostBytes = UINT32_MAX / 2;

  // Returns the compressed form of one message. The view is valid until the next call of deflate() or trim(). Throws
  // std::invalid_argument if the message is empty or longer than kMostBytes.
  std::string_view deflate(std::string_view message);

  // Frees the memory for compressed bytes if it is more than 64 KiB. Call between two messages.
  void trim();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;  // created for the first message
  std::string out_;
  uint8_t window_bits_;
  uint8_t level_;
  bool keeps_context_;
};

class WebSocketInflater {
 public:
  // Uses a window of 2^window_bits bytes. window_bits is 8 to 15 and must not be less than that of the peer's
  // compressor. If `keeps_context` is true, a message may refer to the messages before it.
  WebSocketInflater(uint8_t window_bits, bool keeps_context);
  ~WebSocketInflater();
  WebSocketInflater(const WebSocketInflater&) = delete;
  WebSocketInflater& operator=(const WebSocketInflater&) = delete;

  // Decompresses one message and replaces the content of `message` with it. Returns kTooLarge as soon as the message
  // exceeds `limit_bytes`; the string is never made longer than limit_bytes + 1. Returns kBadDeflate if the data is not
  // valid. Throws std::invalid_argument if `compressed` is longer than WebSocketDeflater::kMostBytes.
  WebSocketFault inflate(std::string_view compressed, size_t limit_bytes, std::string& message);

 private:
  struct Stream;
  WebSocketFault feed(std::string_view bytes, size_t limit_bytes, std::string& message);
  bool begin_next_stream();

  std::unique_ptr<Stream> stream_;  // created for the first message
  size_t stream_ends_left_ = 0;     // how many more deflate streams may end in this message
  uint8_t window_bits_;
  bool keeps_context_;
};

}  // namespace peal
