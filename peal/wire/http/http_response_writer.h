// SPDX-License-Identifier: BSD-3-Clause
// HttpResponseWriter writes the head of a response (RFC 9112 4 and 5) into memory that the caller provides, for example
// from Buffer::prepare(). It allocates nothing.
//
//   HttpResponseWriter head(buffer.prepare(room));
//   head.status(200);
//   head.lines(date_line);
//   if (!head.field("Location", place)) ...
//   head.content_length(13);
//   buffer.commit(head.end());
//
// field() refuses a value that contains a line end or another control character. The caller computes the needed room
// with the constants below. Too little room is a bug of the caller and ends the process by an assertion. The writer
// does no I/O; one thread at a time.
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
  // The largest size of each part of a head, with its CR LF:
  // - kStatusBytes: the status line;
  // - kLengthBytes: a number alone, as number() writes it;
  // - kContentLengthBytes: the Content-Length field;
  // - kChunkedBytes: "Transfer-Encoding: chunked";
  // - kEndBytes: the empty line at the end;
  // - field_bytes(): any other field.
  static constexpr size_t kStatusBytes = 64;
  static constexpr size_t kLengthBytes = 20;
  static constexpr size_t kContentLengthBytes = 16 + kLengthBytes + 2;
  static constexpr size_t kChunkedBytes = 28;
  static constexpr size_t kEndBytes = 2;
  static constexpr size_t field_bytes(std::string_view name, std::string_view value) {
    return name.size() + value.size() + 4;
  }

  // Writes to `room`, which must outlive the writer.
  explicit HttpResponseWriter(std::span<char> room) : begin_(room.data()), at_(begin_), end_(begin_ + room.size()) {}
  explicit HttpResponseWriter(std::span<std::byte> room)
      : HttpResponseWriter({reinterpret_cast<char*>(room.data()), room.size()}) {}

  // Writes the status line. Must be the first call. Throws std::invalid_argument if `status` is not 100 to 999. The
  // version in the line is HTTP/1.1 even if the client uses HTTP/1.0 (RFC 9110 6.2).
  void status(int status);

  // Writes one field. Returns false and writes nothing if the field is not sendable (http_field.h), or if it is
  // Content-Length or Transfer-Encoding. These two fields have functions of their own. If a head had two lengths, two
  // readers could disagree about the end of the message.
  [[nodiscard]] bool field(std::string_view name, std::string_view value);

  // Copies header lines without a check. Each line must be valid and have its CR LF. Use lines() for constants and for
  // lines that were composed and checked before.
  [[gnu::always_inline]] void lines(std::string_view lines) { put(lines); }

  // Copies bytes of the body. Must be called after end(). `bytes` may be empty, and its data() may then be null.
  [[gnu::always_inline]] void body(std::string_view bytes) {
    if (!bytes.empty()) put(bytes);
  }

  // Writes a Content-Length field.
  void content_length(uint64_t bytes);

  // Writes `value` in decimal, at most kLengthBytes digits, as a part of a line that lines() has begun.
  void number(uint64_t value);

  // Writes "Transfer-Encoding: chunked".
  void chunked() { put("Transfer-Encoding: chunked\r\n"); }

  // Writes the empty line that ends the head, and returns the size of the head.
  size_t end() {
    put("\r\n");
    return size();
  }

  // Returns how many bytes have been written so far.
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
