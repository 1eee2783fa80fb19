// SPDX-License-Identifier: BSD-3-Clause
// WebSocketReader: what a peer says over WebSocket (RFC 6455 5 to 8, RFC 7692), from bytes that arrive in pieces of any
// size: whole messages, pings, pongs and the Close frame, or the first fault. Where the bytes were cut changes nothing.
//
//   for (;;) {
//     bytes.remove_prefix(reader.step(bytes));
//     if (reader.event() == WebSocketEvent::kNone) break;  // all taken, or fault()
//     handle(reader.event(), reader.payload());
//   }
//
// A message that is one frame, whole in the bytes given, is not kept: it is shown where it lies, or, masked, in the
// workspace. One in fragments, or that is cut, is collected, at most limit_bytes of it. Text is checked as it comes and
// refused at its first wrong byte; compressed, when it is whole. Between messages a reader holds no memory.
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

// What the readers of one thread share: memory that is used only while an event is shown.
class WebSocketWorkspace {
 public:
  // Room for `bytes`; what was there is gone.
  char* room(size_t bytes);
  // Takes over a message that is shown next.
  std::string_view hold(std::string message);
  std::string& inflated() { return inflated_; }
  // What was shown has been seen: after a rare large message its memory is given back.
  void trim();
  // For messages that refer to none before; made when first wanted.
  WebSocketInflater& inflater();

 private:
  std::string plain_;
  std::string inflated_;
  std::optional<WebSocketInflater> inflater_;
};

enum class WebSocketEvent : uint8_t { kNone, kText, kBinary, kPing, kPong, kClose };

class WebSocketReader {
 public:
  // `reader` is this side. The workspace outlives it. `deflate`: the terms of permessage-deflate, if it was agreed on.
  WebSocketReader(WebSocketRole reader, size_t limit_bytes, WebSocketWorkspace& workspace,
                  const std::optional<WebSocketDeflateTerms>& deflate = std::nullopt);

  // Takes bytes from the front, up to the end of the first event, and returns how many. After a fault or kClose, which
  // is the last event, it takes all and says nothing (RFC 6455 5.5.1).
  size_t step(std::string_view bytes);
  // What the last step() completed.
  WebSocketEvent event() const { return event_; }
  // Its message, or the payload of its control frame: a view into the bytes or the workspace, good until another step
  // of a reader with the same workspace.
  std::string_view payload() const { return payload_; }
  WebSocketFault fault() const { return fault_; }
  // Held for what has come of a message that is not whole.
  size_t held_bytes() const { return message_.capacity(); }
  // Nothing more is taken, as after a fault, and what was held is given back.
  void stop();
  // In the midst of a frame or of a message.
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
  std::unique_ptr<WebSocketInflater> own_inflater_;  // that keeps its context
  std::string message_;                              // what has come of it
  std::string control_;                              // of a control frame that is cut
  std::string_view payload_;
  WebSocketHead head_;        // of the frame under way
  uint64_t taken_bytes_ = 0;  // of its payload
  Utf8Checker utf8_;
  char partial_head_[kWebSocketHeadBytes];  // a head that is cut
  uint8_t partial_head_bytes_ = 0;
  WebSocketRole role_;
  WebSocketEvent event_ = WebSocketEvent::kNone;
  WebSocketFault fault_ = WebSocketFault::kNone;
  WebSocketOpcode message_opcode_ = WebSocketOpcode::kText;
  bool in_frame_ = false;
  bool in_message_ = false;  // its last frame has not ended
  bool deflates_ = false;
  bool message_compressed_ = false;
  bool over_ = false;  // a fault, or Close
};

}  // namespace peal
