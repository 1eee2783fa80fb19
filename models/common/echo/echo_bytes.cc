// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/echo/echo_bytes.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <peal/base/assert.h>
#include <peal/wire/framing/length_framing.h>

namespace peal::models {

std::span<std::byte> EchoBytes::room() {
  if (filled_ == capacity_ && sent_ > 0) {
    std::memmove(bytes_.get(), bytes_.get() + sent_, filled_ - sent_);
    taken_ -= sent_;
    filled_ -= sent_;
    sent_ = 0;
  }
  if (filled_ == capacity_) {
    const size_t capacity = std::max(2 * capacity_, kFirstBytes);
    std::unique_ptr<std::byte[]> larger(new std::byte[capacity]);  // not zeroed: it is written before it is read
    if (filled_ > 0) std::memcpy(larger.get(), bytes_.get(), filled_);
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }
  return {bytes_.get() + filled_, capacity_ - filled_};
}

void EchoBytes::filled(size_t bytes) {
  PEAL_ASSERT(bytes <= capacity_ - filled_, "{} bytes were read into a room of {}", bytes, capacity_ - filled_);
  filled_ += bytes;
}

FrameState EchoBytes::take() {
  const std::string_view rest(reinterpret_cast<const char*>(bytes_.get() + taken_), filled_ - taken_);
  // Creates the LengthFraming in each call, so that all its fields except limit_bytes are constants for the compiler.
  // If the LengthFraming were a member, peek() would have to test the other fields in each call. This function would
  // then execute twice as many instructions.
  const FramePeek frame = LengthFraming{.limit_bytes = max_body_bytes_}.peek(rest);
  if (frame.state == FrameState::kWhole) taken_ += frame.frame_bytes();
  return frame.state;
}

void EchoBytes::sent(size_t bytes) {
  PEAL_ASSERT(bytes <= taken_ - sent_, "{} bytes were sent of an answer of {}", bytes, taken_ - sent_);
  sent_ += bytes;
  if (sent_ == filled_) clear();
}

void EchoBytes::clear() {
  sent_ = taken_ = filled_ = 0;
  if (capacity_ > kKeptBytes) {
    bytes_.reset();
    capacity_ = 0;
  }
}

}  // namespace peal::models
