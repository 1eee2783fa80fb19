// SPDX-License-Identifier: BSD-3-Clause
// WebSocketReader reads the frames of a peer (RFC 6455 5 to 8, RFC 7692) from bytes that arrive in pieces of any size.
// It returns complete messages, pings, pongs and the Close frame as events, or the first fault. The events do not
// depend on how the bytes are split.
//
//   for (;;) {
//     bytes.remove_prefix(reader.step(bytes));
//     if (reader.event() == WebSocketEvent::kNone) break;  // all bytes are read, or there is a fault()
//     handle(reader.event(), reader.payload());
//   }
//
// A message in one frame that is complete in the given bytes is not stored in the reader. payload() is then a view into
// these bytes, or into the workspace if the message is masked or compressed. A message that is fragmented or arrives in
// pieces is collected in the reader, at most limit_bytes of it. Text is checked while it arrives and refused at its
// first byte that is not UTF-8; compressed text is checked when it is complete. Between two messages a reader holds no
// memory, except for the context of permessage-deflate. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <peal/wire/utf8.h>
#include <peal/wire/websocket/websocket_deflate.h>
#include <peal/wire/websocket/websocket_frame.h>

namespace peal {

// Memory that all readers of one thread share. It holds the payload of an event until the next step() of any of these
// readers. The user of the readers owns the workspace and calls trim(); WebSocketReader calls the other functions.
class WebSocketWorkspace {
 public:
  // Returns room for `bytes` bytes of an unmasked payload, and discards the last payload.
  char* room(size_t bytes);

  // Stores a collected payload and returns a view of it. Discards the last payload.
  std::string_view hold(std::string message);

  // Returns the string for the decompressed form of a message.
  std::string& inflated() { return inflated_; }

  // Frees the buffer of the unmasked payload and that of the decompressed message, each if it has more than 256 KiB.
  // Call trim() when the payload of the last event is no longer used.
  void trim();

  // Returns the inflater for messages without context takeover. The first call creates it.
  WebSocketInflater& inflater();

 private:
  std::string plain_;     // the unmasked payload
  std::string inflated_;  // the decompressed message
  std::optional<WebSocketInflater> inflater_;
};

enum class WebSocketEvent : uint8_t { kNone, kText, kBinary, kPing, kPong, kClose };

class WebSocketReader {
 public:
  // `reader` is the role of this side, which receives. limit_bytes is the largest size of a message after
  // decompression. `workspace` must outlive the reader. `deflate` has the terms of permessage-deflate, or is nullopt if
  // it was not agreed on. Throws std::invalid_argument if limit_bytes is not 1 to kMostWebSocketMessageBytes.
  WebSocketReader(WebSocketRole reader, size_t limit_bytes, WebSocketWorkspace& workspace,
                  const std::optional<WebSocketDeflateTerms>& deflate = std::nullopt);

  // Reads from the front of `bytes`, at most up to the end of the first event, and returns how many bytes were read.
  // kClose is the last event. After kClose, a fault or stop(), step() discards all bytes and event() is kNone (RFC 6455
  // 5.5.1).
  size_t step(std::string_view bytes);

  // Returns the event that the last step() completed, or kNone.
  WebSocketEvent event() const { return event_; }

  // Returns the payload of the last event: a message, or the payload of a control frame. The view points into the bytes
  // passed to step() or into the workspace. It is valid until the next step() of any reader with the same workspace.
  std::string_view payload() const { return payload_; }

  // Returns the first fault of the peer, or kNone.
  WebSocketFault fault() const { return fault_; }

  // Returns how many bytes are allocated for the incomplete message.
  size_t held_bytes() const { return message_.capacity(); }

  // Makes all further step() calls discard their bytes, as after a fault, and frees the incomplete message.
  void stop();

  // True if a frame or a message has begun and is not complete.
  bool busy() const { return in_frame_ || in_message_ || partial_head_bytes_ > 0; }

 private:
  size_t take_head(std::string_view bytes);
  void begin_frame();
  size_t take_payload(std::string_view bytes);
  void take_whole_payload(std::string_view masked);
  void collect_piece(std::string_view masked);
  void end_frame();
  void set_event(std::string_view payload);
  void set_message_event(std::string_view message);
  WebSocketInflater& inflater();
  void fail_with(WebSocketFault fault);

  WebSocketWorkspace* workspace_;
  size_t limit_bytes_;
  std::unique_ptr<WebSocketInflater> own_inflater_;  // null unless the peer's messages use context takeover
  std::string message_;                              // the collected part of an incomplete message
  std::string control_;                              // the collected payload of an incomplete control frame
  std::string_view payload_;
  WebSocketHead head_;        // the head of the current frame
  uint64_t taken_bytes_ = 0;  // the bytes of its payload that have been read
  Utf8Checker utf8_;
  char partial_head_[kWebSocketHeadBytes];  // the beginning of a head that is not complete
  uint8_t partial_head_bytes_ = 0;
  WebSocketRole role_;
  WebSocketEvent event_ = WebSocketEvent::kNone;
  WebSocketFault fault_ = WebSocketFault::kNone;
  WebSocketOpcode message_opcode_ = WebSocketOpcode::kText;
  bool in_frame_ = false;    // true between the head of a frame and the end of its payload
  bool in_message_ = false;  // true between the first frame of a message and the end of its last frame
  bool deflates_ = false;    // true if permessage-deflate was agreed on
  bool message_compressed_ = false;
  bool over_ = false;  // true after a fault, a Close frame or stop()
};

}  // namespace peal
