// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/http1_carrier.h>

#include <algorithm>
#include <array>
#include <utility>

#include <peal/base/assert.h>
#include <peal/http/server/parts/http1_session.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/wire/http/http_chunk_writer.h>
#include <peal/wire/http/http_response_writer.h>

namespace peal::detail {

namespace {

constexpr std::string_view kCloseLine = "Connection: close\r\n";
constexpr std::string_view kKeepAliveLine = "Connection: keep-alive\r\n";  // HTTP/1.0 closes the connection without it
constexpr std::string_view kUpgradeLine = "Connection: Upgrade\r\n";
constexpr std::string_view kUpgradeOrCloseLine = "Connection: Upgrade, close\r\n";
// Largest body that is composed in one piece with its head, in bytes.
constexpr size_t kLittleBody = 4096;

void put_type(HttpResponseWriter& head, std::string_view type) {
  std::string clean;
  head.lines("Content-Type: ");
  head.lines(sendable_value(type, clean));
  head.lines("\r\n");
}

}  // namespace

Http1Carrier::Http1Carrier(HttpShard& shard) : HttpCarrier(shard), parser_(shard.core().options().limits) {}

void Http1Carrier::send_interim(int status, std::string_view field_lines) {
  if (head().minor_version() == 0) return;
  Buffer& output = session_->output();
  HttpResponseWriter head(output.prepare(HttpResponseWriter::kStatusBytes + field_lines.size() + 2));
  head.status(status);
  if (!field_lines.empty()) head.lines(field_lines);
  output.commit(head.end());
  session_->put_done();
}

// True if the connection is kept after the answer. False if the handler, the client or the server wants to close it.
// Also false if more bytes of the body are unread than the server would drop (drain_limit_bytes).
[[gnu::always_inline]] inline bool Http1Carrier::keeps_connection(bool in_pieces) const {
  if (wants_close() || !head_read() || !head().keep_alive() || session_->must_close()) return false;
  if (request_read()) return true;
  if (continue_due()) return false;  // the client may send the body or omit it
  if (!head().content_length() || (body_taken() && in_pieces)) return true;
  return *head().content_length() - arrived_body_bytes() <= shard().core().options().drain_limit_bytes;
}

// Returns space for a head in `output`. If further answers are expected, the space is in a large block, so that those
// answers fit into the same block.
[[gnu::always_inline]] inline std::span<std::byte> Http1Carrier::prepare(Buffer& output, size_t bytes) const {
  return output.prepare(shard().expects_more ? std::max<size_t>(bytes, kSmallBlockBytes + 1) : bytes);
}

// Composes the head and `body` in one contiguous piece of output.
void Http1Carrier::put_head(const HttpAnswerHead& answer, std::string_view body) {
  const bool is_old = head().minor_version() == 0;
  const bool unknown = answer.says_length && !answer.length;
  chunked_ = unknown && !is_old && answer.has_content;
  keeps_ = keeps_connection(answer.in_pieces) && !(unknown && is_old);
  const bool ok = answer.status == 200;
  const std::string_view common = ok ? shard().ok_lines() : shard().common_lines();
  const size_t room = HttpResponseWriter::kStatusBytes + common.size() + fields().lines().size() +
                      HttpResponseWriter::field_bytes("Content-Type", answer.content_type) +
                      HttpResponseWriter::kContentLengthBytes + kUpgradeOrCloseLine.size() +
                      HttpResponseWriter::kEndBytes;
  Buffer& output = session_->output();
  HttpResponseWriter head(prepare(output, room + body.size()));
  if (!ok) head.status(answer.status);
  head.lines(common);
  if (!answer.content_type.empty()) put_type(head, answer.content_type);
  if (!fields().lines().empty()) head.lines(fields().lines());
  if (answer.says_length && answer.length) {
    head.content_length(*answer.length);
  } else if (unknown && !is_old) {
    head.chunked();
  }
  if (fields().offers_upgrade()) {
    head.lines(keeps_ ? kUpgradeLine : kUpgradeOrCloseLine);
  } else if (!keeps_) {
    head.lines(kCloseLine);
  } else if (is_old || shard().core().options().says_keep_alive) {
    head.lines(kKeepAliveLine);
  }
  head.end();
  head.body(body);
  output.commit(head.size());
}

void Http1Carrier::send_answer(const HttpAnswerHead& answer, std::string_view body) {
  const bool little = body.size() <= kLittleBody;
  put_head(answer, little ? body : std::string_view());
  if (!little) session_->output().append(body);
  session_->put_done();
}

// Composes an answer 200 with a length and without fields of the handler. Most answers are of this kind.
[[gnu::always_inline]] inline void Http1Carrier::put_plain(std::string_view content_type, std::string_view body) {
  keeps_ = true;
  const std::string_view begin = shard().ok_head(content_type);
  Buffer& output = session_->output();
  const size_t wanted =
      begin.size() + HttpResponseWriter::kLengthBytes + 2 * HttpResponseWriter::kEndBytes + body.size();
  HttpResponseWriter head(prepare(output, wanted));
  head.lines(begin);
  head.number(body.size());
  head.lines("\r\n\r\n");
  head.body(body);
  output.commit(head.size());
}

// True if put_plain() can compose an answer 200 to this request with a body of this size.
[[gnu::always_inline]] inline bool Http1Carrier::is_plain(size_t body_bytes) const {
  return body_bytes <= kLittleBody && fields().lines().empty() && head().minor_version() >= 1 &&
         keeps_connection(false);
}

void Http1Carrier::send_ok(std::string_view content_type, std::string_view body) {
  if (!is_plain(body.size())) [[unlikely]]
    return send_answer(ok_head(content_type, body.size()), body);
  put_plain(content_type, body);
  session_->put_done();
}

void Http1Carrier::put_chunk_size(uint64_t bytes) {
  if (!chunked_) return;
  std::array<char, kMostHttpChunkHeadBytes> size{};
  session_->output().append(std::string_view(size.data(), write_http_chunk_head(size, bytes)));
}

void Http1Carrier::send_piece(std::string_view piece) {
  put_chunk_size(piece.size());
  Buffer& output = session_->output();
  output.append(piece);
  if (chunked_) output.append(kHttpChunkEnd);
}

void Http1Carrier::send_piece(Buffer&& piece) {
  put_chunk_size(piece.size());
  Buffer& output = session_->output();
  output.append(std::move(piece));
  if (chunked_) output.append(kHttpChunkEnd);
}

void Http1Carrier::send_piece(FileRange piece) {
  put_chunk_size(piece.bytes);
  session_->send_file(std::move(piece));
  if (chunked_) session_->output().append(kHttpChunkEnd);
}

void Http1Carrier::send_end() {
  if (chunked_) session_->output().append(kHttpLastChunk);
  session_->put_done();
}

bool Http1Carrier::flush() { return session_->put_done(); }

bool Http1Carrier::above_high_water() const { return session_->above_high_water(); }

bool Http1Carrier::can_send() const { return underlying_connection().can_send(); }

void Http1Carrier::send_reset() { underlying_connection().abort(); }

void Http1Carrier::advance() { session_->advance(); }

int Http1Carrier::send_upgrade(std::string_view protocol) {
  if (!request_read()) return 0;  // the bytes that follow could be the body or the other protocol
  const int status = protocol.empty() ? 200 : 101;
  const std::string_view common = shard().common_lines();
  Buffer& output = session_->output();
  HttpResponseWriter head(output.prepare(HttpResponseWriter::kStatusBytes + common.size() + fields().lines().size() +
                                         kUpgradeLine.size() + HttpResponseWriter::field_bytes("Upgrade", protocol) +
                                         HttpResponseWriter::kEndBytes));
  head.status(status);
  head.lines(common);
  head.lines(fields().lines());
  if (!protocol.empty()) {
    head.lines(kUpgradeLine);
    PEAL_ASSERT(head.field("Upgrade", protocol), "'{}' cannot be sent as a protocol in Upgrade", protocol);
  }
  output.commit(head.end());
  return status;
}

void Http1Carrier::hand_over(std::unique_ptr<UpgradeHandler> handler) { session_->upgrade(std::move(handler)); }

Connection& Http1Carrier::underlying_connection() const { return session_->connection(); }

}  // namespace peal::detail
