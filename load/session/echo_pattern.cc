// SPDX-License-Identifier: BSD-3-Clause
#include <load/session/echo_pattern.h>

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <peal/base/assert.h>
#include <peal/wire/framing/integer_bytes.h>

namespace peal::load {
namespace {

constexpr size_t kPeriod = 128;
constexpr size_t kCopiedBytes = 4096;
// `repeated_` holds many copies of the message, one after the other. So a single memcmp() can check received bytes that
// contain many small messages. The received bytes may begin at any byte of a message. Therefore `repeated_` is longer
// than one message by at least this constant: up to 64 KiB then fit, wherever they begin.
constexpr size_t kComparedBytes = size_t{64} << 10;

std::string counted(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % kPeriod);
  return bytes;
}

}  // namespace

EchoPattern::EchoPattern(size_t size) : EchoPattern(counted(size)) {}

EchoPattern EchoPattern::framed(size_t size) {
  std::string frame;
  append_integer<4>(frame, size);
  return EchoPattern(frame += counted(size));
}

EchoPattern::EchoPattern(const std::string& block) : size_(block.size()) {
  PEAL_ASSERT(size_ > 0, "an echo block must not be empty, but has {} bytes", size_);
  while (repeated_.size() < std::max(2 * size_, size_ + kComparedBytes)) repeated_ += block;
  if (size_ > kCopiedBytes) shared_ = share_bytes(std::string(this->block()));
}

Buffer EchoPattern::message() const {
  Buffer bytes;
  if (shared_ == nullptr) {
    bytes.append(block());
  } else {
    bytes.append(shared_);
  }
  return bytes;
}

bool EchoPattern::matches(const Buffer& bytes, size_t position) const {
  PEAL_ASSERT(position < size_, "{} bytes are compared at position {} of a block of {}", bytes.size(), position, size_);
  const std::string_view front = bytes.front();
  if (bytes.is_contiguous() && position + front.size() <= repeated_.size()) [[likely]] {
    return std::memcmp(front.data(), repeated_.data() + position, front.size()) == 0;
  }
  return matching_bytes(bytes, position) == bytes.size();
}

size_t EchoPattern::matching_bytes(const Buffer& bytes, size_t position) const {
  std::vector<iovec> parts(8);
  while (bytes.gather(parts) == parts.size()) parts.resize(2 * parts.size());
  parts.resize(bytes.gather(parts));
  size_t right = 0;
  for (const iovec& part : parts) {
    std::string_view left(static_cast<const char*>(part.iov_base), part.iov_len);
    while (!left.empty()) {
      const size_t at = (position + right) % size_;
      const std::string_view step = left.substr(0, repeated_.size() - at);
      const std::string_view wanted = std::string_view(repeated_).substr(at, step.size());
      if (step != wanted) {
        return right + static_cast<size_t>(std::ranges::mismatch(step, wanted).in1 - step.begin());
      }
      right += step.size();
      left.remove_prefix(step.size());
    }
  }
  return right;
}

}  // namespace peal::load
