// SPDX-License-Identifier: BSD-3-Clause
// EchoPattern: the block that circulates (byte i is i mod 128) and the check of what comes back. Any thread reads it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <peal/base/block_pool.h>
#include <peal/base/buffer.h>

namespace peal::load {

class EchoPattern {
 public:
  // `size` > 0.
  explicit EchoPattern(size_t size);

  size_t size() const { return size_; }
  std::string_view block() const { return std::string_view(twice_).substr(0, size_); }
  // One block to be sent. A large one is shared, a small one cheaper to copy.
  Buffer message() const;

  // Whether `bytes`, at most size() of them, are what the stream holds from `position` (< size()) of a lap on. The next
  // lap follows without a gap.
  bool matches(const Buffer& bytes, size_t position) const;
  // How many bytes of them are right.
  size_t matching_bytes(const Buffer& bytes, size_t position) const;

 private:
  bool parts_match(const Buffer& bytes, size_t position) const;

  size_t size_;
  std::string twice_;  // so that a chunk that ends in the next lap is compared at once
  SharedBytes shared_;
};

}  // namespace peal::load
