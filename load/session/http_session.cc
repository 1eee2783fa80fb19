// SPDX-License-Identifier: BSD-3-Clause
#include <load/session/http_session.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include <load/session/lane.h>
#include <peal/base/memory/block_pool.h>

namespace peal::load {
namespace {

// Copies `bytes` into a new memory block and returns a Buffer that holds this block. Buffer::append() would be slower,
// because it would first check whether the Buffer already has a block with free room. A new Buffer never has one.
Buffer in_one_block(std::string_view bytes) {
  Block* block = BlockPool::here().acquire(static_cast<uint32_t>(bytes.size()));
  std::memcpy(block->data, bytes.data(), bytes.size());
  return {block, 0, static_cast<uint32_t>(bytes.size())};
}

}  // namespace

HttpSession::HttpSession(Lane& lane, const HttpProtocol& protocol)
    : Session(lane),
      protocol_(protocol),
      is_head_(protocol.load().method == "HEAD"),
      compares_(protocol.load().expected_body.has_value()) {
  begin_answer();
}

void HttpSession::begin_connection() { begin_answer(); }

void HttpSession::begin_answer() {
  parser_.begin(is_head_);
  body_right_ = true;
  compared_ = 0;
}

// Sends `count` requests. If the connection may carry no further request after them, the last of them contains
// "Connection: close". This allows the server to close the connection after its answer (RFC 9112 9.6).
void HttpSession::send_messages(size_t count) {
  uint64_t& sent = lane().recording().counts.bytes_sent;
  const bool with_last = left() == 0;
  if (count == 1 && in_flight() == 1 && !with_last && protocol_.request_bytes() <= kLargeBlockBytes) [[likely]] {
    // Fast path for a single request. No other request is in flight, so no output is queued. send_copy() would look for
    // queued output, to which it could append the request. This search is not needed here, so the request is sent in a
    // memory block of its own.
    lane().port().send(stream(), in_one_block(protocol_.requests(1)));
    sent += protocol_.request_bytes();
    return;
  }
  for (size_t plain = count - (with_last ? 1 : 0); plain > 0;) {
    const size_t some = std::min(plain, protocol_.side_by_side());
    lane().port().send_copy(stream(), protocol_.requests(some));
    sent += some * protocol_.request_bytes();
    plain -= some;
  }
  if (!with_last) return;
  lane().port().send_copy(stream(), protocol_.last_request());
  sent += protocol_.last_request().size();
}

void HttpSession::on_received(Buffer& bytes) {
  Counts& counts = lane().recording().counts;
  ++counts.reads;
  counts.bytes_received += bytes.size();
  const TimePoint now = lane().engine().now();
  while (!bytes.empty()) {
    const size_t part = bytes.front().size();
    take(bytes.front(), now);
    if (!open()) return;
    bytes.consume(part);
  }
  go_on(now);
}

void HttpSession::take(std::string_view bytes, TimePoint now) {
  while (!bytes.empty()) {
    if (in_flight() == 0)
      return fail("unasked_answer", "the server sent bytes, but no request was waiting for an answer");
    if (!parser_.started()) first_byte(now);
    bytes.remove_prefix(compares_ ? parse_and_compare(bytes) : parser_.parse(bytes));
    if (parser_.error() != HttpParseError::kNone) {
      return fail("bad_response", fmt::format("malformed response: {}", to_string(parser_.error())));
    }
    if (!parser_.done()) continue;
    finish(now);
    if (!open()) return;
  }
}

size_t HttpSession::parse_and_compare(std::string_view bytes) {
  return parser_.parse(bytes, [this](std::string_view piece) {
    const std::string_view wanted = *protocol_.load().expected_body;
    if (compared_ >= wanted.size() || wanted.substr(compared_, piece.size()) != piece) body_right_ = false;
    compared_ += piece.size();
  });
}

// Called when the answer to the oldest request is complete. Checks the answer and reports whether it is right. If the
// answer says that the server will close the connection, closes the connection.
void HttpSession::finish(TimePoint now) {
  const HttpLoad& asked = protocol_.load();
  const int status = parser_.status();
  const bool keep_alive = parser_.keep_alive();
  lane().count_status(status);
  if (asked.status ? status != *asked.status : status < 200 || status > 399) {
    answered_wrongly(now, fmt::format("{}{}", kStatusKind, status),
                     fmt::format("the server answered with status {}", status));
  } else if (asked.length && parser_.body_bytes() != *asked.length) {
    answered_wrongly(now, "wrong_length",
                     fmt::format("a body has {} bytes, not {}", parser_.body_bytes(), *asked.length));
  } else if (compares_ && (!body_right_ || compared_ != asked.expected_body->size())) {
    answered_wrongly(now, "wrong_body", fmt::format("a body of {} bytes is not the expected body", compared_));
  } else {
    answered(now);
  }
  begin_answer();
  if (!keep_alive) leave();
}

// Called when the server has closed its side of the connection. Returns true if the caller must close the connection
// without a failure. There are three cases:
// - No byte of an answer has arrived. The base class decides whether the server was allowed to close (RFC 9112 9.5). If
//   not, the function returns false, and the caller counts a failure and closes the connection.
// - An answer has begun whose head gives no length of the body. The close is the end of this answer (RFC 9112 6.3). The
//   function checks the answer and closes the connection. It returns false, because nothing is left to close.
// - An answer of another kind has begun, so the rest of it is missing. The function counts a failure and closes the
//   connection. It returns false, because nothing is left to close.
bool HttpSession::accept_end(TimePoint now) {
  if (!parser_.started()) return Session::accept_end(now);
  if (!parser_.end()) {
    fail("cut_short",
         fmt::format("the server closed in the middle of an answer, after {} bytes of its body", parser_.body_bytes()));
    return false;
  }
  finish(now);
  return open();
}

}  // namespace peal::load
