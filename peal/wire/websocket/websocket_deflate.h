// SPDX-License-Identifier: BSD-3-Clause
// The codec of permessage-deflate (RFC 7692 7.2), on zlib.
//
// Memory. A codec that keeps its context from message to message belongs to one connection, and holds from its first
// message on: WebSocketDeflater 2^(window_bits + 2) + 2^17 bytes, 256 KiB with 15;
// WebSocketInflater 2^window_bits + 7 KiB, 39 KiB with 15 (zlib.h);
// and what trim() leaves. Without context takeover one codec serves all
// connections of a thread, in turn, and a connection holds nothing.
//
// Pure; one thread at a time.
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
  // zlib's raw deflate knows no window of 8 bits (256 bytes): can() says whether it may be made.
  // What zlib does not take: std::invalid_argument.
  static bool can(uint8_t window_bits) { return window_bits >= 9; }
  WebSocketDeflater(uint8_t window_bits, bool keeps_context, const WebSocketDeflateOptions& options);
  ~WebSocketDeflater();
  WebSocketDeflater(const WebSocketDeflater&) = delete;
  WebSocketDeflater& operator=(const WebSocketDeflater&) = delete;

  // Of a message's bytes, compressed or not: zlib's counters have 32 bits.
  static constexpr size_t kMostBytes = UINT32_MAX / 2;

  // The compressed form of one message of 1 to kMostBytes, or std::invalid_argument; a view that is good until the next
  // call.
  std::string_view deflate(std::string_view message);
  // Between messages: after a large one its memory is given back, so that 64 KiB are kept at most.
  void trim();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;  // made for the first message
  std::string out_;
  uint8_t window_bits_;
  uint8_t level_;
  bool keeps_context_;
};

class WebSocketInflater {
 public:
  WebSocketInflater(uint8_t window_bits, bool keeps_context);
  ~WebSocketInflater();
  WebSocketInflater(const WebSocketInflater&) = delete;
  WebSocketInflater& operator=(const WebSocketInflater&) = delete;

  // Puts the message whose compressed form this is into `message`, in place of what that held. kTooLarge as soon as it
  // is more than `limit_bytes`, having made room for no more; kBadDeflate.
  WebSocketFault inflate(std::string_view compressed, size_t limit_bytes, std::string& message);

 private:
  struct Stream;
  WebSocketFault feed(std::string_view bytes, size_t limit_bytes, std::string& message);
  bool begin_next_stream();

  std::unique_ptr<Stream> stream_;  // made for the first message
  size_t stream_ends_left_ = 0;     // of streams in the message under way
  uint8_t window_bits_;
  bool keeps_context_;
};

}  // namespace peal
