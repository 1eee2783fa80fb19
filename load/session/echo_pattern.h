// SPDX-License-Identifier: BSD-3-Clause
// EchoPattern: the bytes of the message that an echo test sends again and again, and the check of the bytes that come
// back. Byte i of the message's body is i mod 128. An EchoPattern is immutable, so any thread may use it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <peal/base/memory/block_pool.h>
#include <peal/base/memory/buffer.h>

namespace peal::load {

class EchoPattern {
 public:
  // Makes the pattern for an echo test whose messages have `size` bytes each, without a length before these bytes.
  // Asserts that `size` > 0.
  explicit EchoPattern(size_t size);
  // Makes a pattern whose message is a frame. The first 4 bytes of the frame are the length of the body, in big-endian
  // order. The body follows, which has `size` bytes.
  static EchoPattern framed(size_t size);

  // Returns the size of one message in bytes. If the message is a frame, its 4 length bytes are included.
  size_t size() const { return size_; }
  std::string_view block() const { return std::string_view(repeated_).substr(0, size_); }
  // Returns a Buffer with one message. If the message has more than 4096 bytes (kCopiedBytes), the Buffer shares memory
  // with this pattern. A message of at most 4096 bytes is copied, because copying few bytes is cheaper than sharing
  // them.
  Buffer message() const;

  // Returns true if `bytes` are the next bytes that an echo server must send back. `position` is how many bytes of the
  // current message have come back before. `bytes` may contain the end of this message and further messages. The first
  // byte of each further message must come directly after the last byte of the message before. Asserts that `position`
  // < size().
  bool matches(const Buffer& bytes, size_t position) const;
  // Compares `bytes` with the next bytes that an echo server must send back. `position` is how many bytes of the
  // current message have come back before. Returns how many bytes are right before the first wrong byte. If all are
  // right, returns the size of `bytes`.
  size_t matching_bytes(const Buffer& bytes, size_t position) const;

 private:
  explicit EchoPattern(const std::string& block);

  size_t size_;
  std::string repeated_;  // the message, repeated, so that a chunk of several messages needs only one comparison
  SharedBytes shared_;
};

}  // namespace peal::load
