// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/echo/echo_bytes.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <peal/base/assert.h>

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
  PEAL_ASSERT(bytes <= capacity_ - filled_, "{} bytes in a room of {}", bytes, capacity_ - filled_);
  filled_ += bytes;
}

EchoFrameState EchoBytes::take(std::span<const std::byte>* body) {
  const std::span<const std::byte> rest(bytes_.get() + taken_, filled_ - taken_);
  const EchoFramePeek frame = peek_frame(rest, max_body_bytes_);
  if (frame.state != EchoFrameState::kWhole) return frame.state;
  if (body != nullptr) *body = rest.subspan(kEchoHeaderBytes, frame.body_bytes);
  taken_ += frame.frame_bytes();
  return frame.state;
}

void EchoBytes::sent(size_t bytes) {
  PEAL_ASSERT(bytes <= taken_ - sent_, "{} bytes sent of an answer of {}", bytes, taken_ - sent_);
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
