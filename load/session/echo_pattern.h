// SPDX-License-Identifier: BSD-3-Clause
// EchoPattern: the block that circulates (byte i of its body is i mod 128) and the check of what comes back. Any thread
// reads it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <peal/base/memory/block_pool.h>
#include <peal/base/memory/buffer.h>

namespace peal::load {

class EchoPattern {
 public:
  // `size` bytes, > 0.
  explicit EchoPattern(size_t size);
  // A frame: the length of the body as 4 bytes, big-endian, then the body of `size` bytes.
  static EchoPattern framed(size_t size);

  // Of the block that circulates: a frame's length bytes are among them.
  size_t size() const { return size_; }
  std::string_view block() const { return std::string_view(repeated_).substr(0, size_); }
  // One block to be sent. A large one is shared, a small one cheaper to copy.
  Buffer message() const;

  // Whether `bytes` are what the stream holds from `position` (< size()) of a block on. Blocks follow without a gap.
  bool matches(const Buffer& bytes, size_t position) const;
  // How many bytes of them are right.
  size_t matching_bytes(const Buffer& bytes, size_t position) const;

 private:
  explicit EchoPattern(const std::string& block);

  size_t size_;
  std::string repeated_;  // so that a chunk that ends in a later block is compared at once
  SharedBytes shared_;
};

}  // namespace peal::load
