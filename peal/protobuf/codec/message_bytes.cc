// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/message_bytes.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/common.h>

#include <peal/base/bad_value.h>
#include <peal/base/memory/buffer.h>
#include <peal/protobuf/codec/adler32.h>
#include <peal/protobuf/codec/parts/parts_input.h>
#include <peal/protobuf/codec/parts/quiet_protobuf.h>

namespace peal {
namespace {

// The number of blocks for which the list has room at first. The room is doubled until all blocks fit.
constexpr size_t kUsualParts = 8;

void check_size(size_t wanted, size_t size) {
  if (wanted > size) [[unlikely]]
    throw_bad_value("cannot take {} bytes from a message of {} bytes", wanted, size);
}

}  // namespace

MessageBytes::MessageBytes(const Buffer& buffer) : front_(buffer.front()), size_(buffer.size()) {
  if (buffer.is_contiguous()) return;
  std::vector<iovec> vectors(kUsualParts);
  size_t used = buffer.gather(vectors);
  while (used == vectors.size()) {
    vectors.resize(2 * vectors.size());
    used = buffer.gather(vectors);
  }
  parts_.reserve(used);
  for (const iovec& vector : std::span(vectors).first(used)) {
    parts_.emplace_back(static_cast<const char*>(vector.iov_base), vector.iov_len);
  }
  update_front();
}

void MessageBytes::remove_front(size_t bytes) {
  check_size(bytes, size_);
  size_ -= bytes;
  if (is_contiguous()) return front_.remove_prefix(bytes);
  auto part = parts_.begin();
  for (; part != parts_.end() && bytes >= part->size(); ++part) bytes -= part->size();
  if (part != parts_.end()) part->remove_prefix(bytes);
  parts_.erase(parts_.begin(), part);
  update_front();
}

MessageBytes MessageBytes::take_front(size_t bytes) {
  check_size(bytes, size_);
  MessageBytes taken(front_.substr(0, bytes));
  if (taken.size_ < bytes) {
    taken.size_ = bytes;
    for (size_t left = bytes; const std::string_view part : parts_) {
      if (left == 0) break;
      taken.parts_.push_back(part.substr(0, left));
      left -= taken.parts_.back().size();
    }
  }
  remove_front(bytes);
  return taken;
}

void MessageBytes::take_back(std::span<char> to) {
  check_size(to.size(), size_);
  size_ -= to.size();
  if (is_contiguous()) {
    if (!to.empty()) std::memcpy(to.data(), front_.data() + size_, to.size());
    return front_.remove_suffix(to.size());
  }
  while (!to.empty()) {
    std::string_view& last = parts_.back();
    const size_t bytes = std::min(to.size(), last.size());
    std::ranges::copy(last.substr(last.size() - bytes), to.last(bytes).begin());
    to = to.first(to.size() - bytes);
    last.remove_suffix(bytes);
    if (last.empty()) parts_.pop_back();
  }
  update_front();
}

void MessageBytes::update_front() {
  front_ = parts_.empty() ? std::string_view() : parts_.front();
  if (parts_.size() == 1) parts_.clear();
}

uint32_t MessageBytes::adler32() const {
  if (is_contiguous()) return adler32_of(front_);
  uint32_t sum = kAdler32OfNothing;
  for (const std::string_view part : parts_) sum = adler32_of(part, sum);
  return sum;
}

std::string MessageBytes::to_string() const {
  if (is_contiguous()) return std::string(front_);
  std::string text;
  text.reserve(size_);
  for (const std::string_view part : parts_) text += part;
  return text;
}

bool MessageBytes::parse_into(google::protobuf::Message& message) const {
  if (size_ > INT_MAX) return false;
  const auto size = static_cast<int>(size_);
  const detail::QuietProtobuf quiet;
  try {
    // The parse functions without "Partial" in their name would log which required field is missing. IsInitialized()
    // checks the required fields without logging.
    if (is_contiguous()) return message.ParsePartialFromArray(front_.data(), size) && message.IsInitialized();
    detail::PartsInput input(parts_);
    // protobuf reserves memory for a string as soon as it has read the string's length. The size given here limits that
    // memory to the bytes that really follow.
    return message.ParsePartialFromBoundedZeroCopyStream(&input, size) && message.IsInitialized();
  } catch (const google::protobuf::FatalException&) {
    return false;
  }
}

}  // namespace peal
