// SPDX-License-Identifier: BSD-3-Clause
#include <load/echo_pattern.h>

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <peal/base/assert.h>

namespace peal::load {
namespace {

constexpr size_t kPeriod = 128;
constexpr size_t kCopiedBytes = 4096;

}  // namespace

EchoPattern::EchoPattern(size_t size) : size_(size) {
  PEAL_ASSERT(size > 0, "a block of {} bytes", size);
  twice_.resize(2 * size);
  for (size_t i = 0; i < twice_.size(); ++i) twice_[i] = static_cast<char>(i % size % kPeriod);
  if (size > kCopiedBytes) shared_ = share_bytes(block());
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
  PEAL_ASSERT(position < size_ && bytes.size() <= size_, "{} bytes at {} of {}", bytes.size(), position, size_);
  if (bytes.is_contiguous()) [[likely]] {
    const std::string_view front = bytes.front();
    return std::memcmp(front.data(), twice_.data() + position, front.size()) == 0;
  }
  return parts_match(bytes, position);
}

bool EchoPattern::parts_match(const Buffer& bytes, size_t position) const {
  std::array<iovec, 32> parts;
  size_t checked = 0;
  for (const iovec& part : std::span(parts).first(bytes.gather(parts))) {
    if (std::memcmp(part.iov_base, twice_.data() + position + checked, part.iov_len) != 0) return false;
    checked += part.iov_len;
  }
  // A chain longer than that is not worth being quick about.
  return checked == bytes.size() || matching_bytes(bytes, position) == bytes.size();
}

size_t EchoPattern::matching_bytes(const Buffer& bytes, size_t position) const {
  const std::string got = bytes.to_string();
  const auto end = std::mismatch(got.begin(), got.end(), twice_.begin() + static_cast<ptrdiff_t>(position));
  return static_cast<size_t>(end.first - got.begin());
}

}  // namespace peal::load
