// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/websocket_reader.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <peal/base/bad_value.h>
#include <peal/base/memory/memory_charge.h>

namespace peal {
namespace {

// trim() frees a buffer of the workspace if it has more than this memory.
constexpr size_t kKeptBytes = 256 * 1024;

// Returns the limit for the compressed form of a message of at most limit_bytes. Bytes that cannot be compressed are
// stored in blocks with five more bytes each (RFC 1951 3.2.4). The limit allows for blocks of 320 bytes and more.
size_t compressed_limit(size_t limit_bytes) { return limit_bytes + limit_bytes / 64 + 64; }

}  // namespace

void WebSocketWorkspace::trim() {
  if (plain_.capacity() > kKeptBytes) free_storage(plain_);
  if (inflated_.capacity() > kKeptBytes) free_storage(inflated_);
}

char* WebSocketWorkspace::room(size_t bytes) {
  plain_.resize_and_overwrite(bytes, [](char*, size_t wanted) { return wanted; });
  return plain_.data();
}

std::string_view WebSocketWorkspace::hold(std::string message) { return plain_ = std::move(message); }

WebSocketInflater& WebSocketWorkspace::inflater() {
  if (!inflater_) inflater_.emplace(uint8_t{15}, false);
  return *inflater_;
}

WebSocketReader::WebSocketReader(WebSocketRole reader, size_t limit_bytes, WebSocketWorkspace& workspace,
                                 const std::optional<WebSocketDeflateTerms>& deflate)
    : workspace_(&workspace), limit_bytes_(limit_bytes), role_(reader), deflates_(deflate.has_value()) {
  if (limit_bytes == 0 || limit_bytes > kMostWebSocketMessageBytes) {
    throw_bad_value("a limit of {} bytes a message; 1 to {} are possible", limit_bytes, kMostWebSocketMessageBytes);
  }
  if (!deflate) return;
  const bool from_client = reader == WebSocketRole::kServer;
  if (from_client ? deflate->client_no_context_takeover : deflate->server_no_context_takeover) return;
  own_inflater_ = std::make_unique<WebSocketInflater>(
      from_client ? deflate->client_max_window_bits : deflate->server_max_window_bits, true);
}

WebSocketInflater& WebSocketReader::inflater() {
  return own_inflater_ != nullptr ? *own_inflater_ : workspace_->inflater();
}

size_t WebSocketReader::step(std::string_view bytes) {
  event_ = WebSocketEvent::kNone;
  payload_ = {};
  size_t used = 0;
  while (!over_ && event_ == WebSocketEvent::kNone) {
    const bool needs_bytes = !in_frame_ || taken_bytes_ < head_.payload_bytes;
    if (needs_bytes && used == bytes.size()) break;
    used += in_frame_ ? take_payload(bytes.substr(used)) : take_head(bytes.substr(used));
  }
  return over_ && event_ == WebSocketEvent::kNone ? bytes.size() : used;
}

size_t WebSocketReader::take_head(std::string_view bytes) {
  const size_t before = partial_head_bytes_;
  const char* head = bytes.data();
  size_t have = bytes.size();
  if (before > 0) {
    const size_t added = std::min(bytes.size(), kWebSocketHeadBytes - before);
    std::memcpy(partial_head_ + before, bytes.data(), added);
    head = partial_head_;
    have = before + added;
  }
  const size_t wanted = have < 2 ? 2 : websocket_head_bytes(head[1]);
  if (have < wanted) {
    if (before == 0) std::memcpy(partial_head_, head, have);
    partial_head_bytes_ = static_cast<uint8_t>(have);
    return have - before;
  }
  partial_head_bytes_ = 0;
  if (const WebSocketFault fault = read_websocket_head(head, role_, deflates_, head_); fault != WebSocketFault::kNone) {
    fail_with(fault);
  } else {
    begin_frame();
  }
  return wanted - before;
}

// Checks whether the frame of head_ may follow the last frame (RFC 6455 5.4), and whether the message is within its
// limit.
void WebSocketReader::begin_frame() {
  taken_bytes_ = 0;
  in_frame_ = true;
  if (is_control(head_.opcode)) return;
  const bool continues = head_.opcode == WebSocketOpcode::kContinuation;
  if (continues != in_message_) {
    return fail_with(continues ? WebSocketFault::kNothingToContinue : WebSocketFault::kUnfinishedMessage);
  }
  if (!continues) {
    message_opcode_ = head_.opcode;
    message_compressed_ = head_.compressed;
  }
  const size_t limit = message_compressed_ ? compressed_limit(limit_bytes_) : limit_bytes_;
  if (head_.payload_bytes > limit - message_.size()) return fail_with(WebSocketFault::kTooLarge);
  in_message_ = true;
}

size_t WebSocketReader::take_payload(std::string_view bytes) {
  const auto size = static_cast<size_t>(std::min<uint64_t>(head_.payload_bytes - taken_bytes_, bytes.size()));
  const std::string_view piece = bytes.substr(0, size);
  const bool whole = taken_bytes_ == 0 && size == head_.payload_bytes;
  if (whole && head_.fin && head_.opcode != WebSocketOpcode::kContinuation) {
    take_whole_payload(piece);
    return size;
  }
  if (size > 0) collect_piece(piece);
  taken_bytes_ += size;
  if (!over_ && taken_bytes_ == head_.payload_bytes) end_frame();
  return size;
}

// Handles a payload that is complete in the given bytes. Its frame is a control frame or the only frame of a message.
void WebSocketReader::take_whole_payload(std::string_view masked) {
  std::string_view payload = masked;
  if (head_.masked && !masked.empty()) {
    char* room = workspace_->room(masked.size());
    mask_websocket_bytes(room, masked, head_.key);
    payload = {room, masked.size()};
  }
  set_event(payload);
}

void WebSocketReader::collect_piece(std::string_view masked) {
  std::string& text = is_control(head_.opcode) ? control_ : message_;
  const size_t before = text.size();
  // The capacity is doubled here, because resize_and_overwrite() may allocate no more than the new size. All the
  // collected text would then be copied again for each small piece.
  if (text.capacity() < before + masked.size()) text.reserve(std::max(text.capacity() * 2, before + masked.size()));
  text.resize_and_overwrite(before + masked.size(), [&](char* to, size_t size) {
    mask_websocket_bytes(to + before, masked, head_.key, taken_bytes_);
    return size;
  });
  const bool is_plain_text = message_opcode_ == WebSocketOpcode::kText && !message_compressed_;
  if (&text == &message_ && is_plain_text && !utf8_.take(std::string_view(text).substr(before))) {
    fail_with(WebSocketFault::kBadUtf8);
  }
}

// Handles the end of a frame whose payload was collected in control_ or message_.
void WebSocketReader::end_frame() {
  if (is_control(head_.opcode)) return set_event(workspace_->hold(std::exchange(control_, {})));
  if (head_.fin) return set_event(workspace_->hold(std::exchange(message_, {})));
  in_frame_ = false;
}

void WebSocketReader::set_event(std::string_view payload) {
  in_frame_ = false;
  switch (head_.opcode) {
    case WebSocketOpcode::kPing: event_ = WebSocketEvent::kPing; break;
    case WebSocketOpcode::kPong: event_ = WebSocketEvent::kPong; break;
    case WebSocketOpcode::kClose:
      if (const auto close = read_websocket_close(payload); !close) return fail_with(close.error());
      event_ = WebSocketEvent::kClose;
      over_ = true;
      break;
    default: return set_message_event(payload);
  }
  payload_ = payload;
}

void WebSocketReader::set_message_event(std::string_view message) {
  in_message_ = false;
  if (message_compressed_) {
    std::string& inflated = workspace_->inflated();
    const WebSocketFault fault = inflater().inflate(message, limit_bytes_, inflated);
    if (fault != WebSocketFault::kNone) return fail_with(fault);
    message = inflated;
  }
  const bool is_text = message_opcode_ == WebSocketOpcode::kText;
  // Uncompressed text that was collected in pieces is known to be UTF-8 already, except for an incomplete character at
  // its end.
  const bool seen = head_.opcode == WebSocketOpcode::kContinuation || taken_bytes_ > 0;
  if (is_text && !(seen && !message_compressed_ ? utf8_.whole() : is_utf8(message))) {
    return fail_with(WebSocketFault::kBadUtf8);
  }
  utf8_.clear();
  payload_ = message;
  event_ = is_text ? WebSocketEvent::kText : WebSocketEvent::kBinary;
}

void WebSocketReader::fail_with(WebSocketFault fault) {
  fault_ = fault;
  stop();
}

void WebSocketReader::stop() {
  over_ = true;
  in_frame_ = in_message_ = false;
  free_storage(message_);
  free_storage(control_);
}

}  // namespace peal
