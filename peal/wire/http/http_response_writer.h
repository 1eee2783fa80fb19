// SPDX-License-Identifier: BSD-3-Clause
// HttpResponseWriter: writes the head of a response (RFC 9112 4 and 5) into memory of the caller's, which may be what
// Buffer::prepare() gave. It allocates nothing.
//
//   HttpResponseWriter head(buffer.prepare(HttpResponseWriter::kStatusBytes + ...));
//   head.status(200);
//   head.lines(date_line);
//   if (!head.field("Location", place)) ...
//   head.content_length(13);
//   buffer.commit(head.end());
//
// A value with a line end or another control in it cannot get through: field() refuses it. Room is the caller's to
// count, with the constants below; too little of it is a bug and stops the process.
// Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/http/http_field.h>

namespace peal {

class HttpResponseWriter {
 public:
  // What each line takes at most; the end of the head is an empty line.
  static constexpr size_t kStatusBytes = 64;
  static constexpr size_t kLengthBytes = 20;
  static constexpr size_t kContentLengthBytes = 16 + kLengthBytes + 2;
  static constexpr size_t kChunkedBytes = 28;
  static constexpr size_t kEndBytes = 2;
  static constexpr size_t field_bytes(std::string_view name, std::string_view value) {
    return name.size() + value.size() + 4;
  }

  explicit HttpResponseWriter(std::span<char> room) : begin_(room.data()), at_(begin_), end_(begin_ + room.size()) {}
  explicit HttpResponseWriter(std::span<std::byte> room)
      : HttpResponseWriter({reinterpret_cast<char*>(room.data()), room.size()}) {}

  // First. 100 to 999, or std::invalid_argument; HTTP/1.1 also to a peer that spoke 1.0 (RFC 9110 6.2).
  void status(int status);
  // False, and nothing is written, where the field is not sendable. Content-Length and Transfer-Encoding have calls of
  // their own: two lengths in one head would be two messages to somebody.
  [[nodiscard]] bool field(std::string_view name, std::string_view value);
  // Lines that are known to be right, each with its CR LF: composed before, or constants. Copied as they are.
  [[gnu::always_inline]] void lines(std::string_view lines) { put(lines); }
  // Of a body, behind the head. None may have no place, either.
  [[gnu::always_inline]] void body(std::string_view bytes) {
    if (!bytes.empty()) put(bytes);
  }
  void content_length(uint64_t bytes);
  // Of a line that lines() has begun. At most kLengthBytes.
  void number(uint64_t value);
  void chunked() { put("Transfer-Encoding: chunked\r\n"); }
  // The empty line; returns how many bytes the head has in all.
  size_t end() {
    put("\r\n");
    return size();
  }
  size_t size() const { return static_cast<size_t>(at_ - begin_); }

 private:
  [[gnu::always_inline]] void put(std::string_view text) {
    PEAL_ASSERT(text.size() <= static_cast<size_t>(end_ - at_), "{} more bytes of a response head, but room for {}",
                text.size(), end_ - at_);
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

  char* begin_;
  char* at_;
  char* end_;
};

}  // namespace peal
