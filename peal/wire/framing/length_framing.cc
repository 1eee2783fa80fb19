// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/framing/length_framing.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <peal/base/bad_value.h>
#include <peal/wire/framing/varint.h>

namespace peal {
namespace {

void check_limit(size_t body_bytes, size_t limit_bytes) {
  if (body_bytes > limit_bytes) throw_bad_value("a message of {} bytes; the limit is {}", body_bytes, limit_bytes);
}

}  // namespace

void LengthFraming::append_length(Buffer& output, size_t body_bytes) const {
  detail::check_width(length_bytes);
  check_limit(body_bytes, limit_bytes);
  const uint64_t length = body_bytes + (counts_itself ? length_bytes : 0);
  detail::check_fits(length, length_bytes);
  const uint64_t word = detail::word_with_integer(length, length_bytes, big_endian);
  std::memcpy(output.prepare(sizeof word).data(), &word, sizeof word);
  output.commit(length_bytes);
}

void LengthFraming::append(Buffer& output, std::string_view body) const {
  append_length(output, body.size());
  output.append(body);
}

void LengthFraming::append(Buffer& output, Buffer&& body) const {
  append_length(output, body.size());
  output.append(std::move(body));
}

FramePeek VarintFraming::peek(std::string_view first, size_t available) const {
  const VarintPeek length = peek_varint(first.substr(0, available));
  if (length.state != FrameState::kWhole) return {.state = length.state};
  FramePeek found{.header_bytes = length.bytes, .body_bytes = length.value};
  if (length.value > limit_bytes) {
    found.state = FrameState::kTooLong;
  } else if (available - length.bytes >= length.value) {
    found.state = FrameState::kWhole;
  }
  return found;
}

FramePeek VarintFraming::peek(Buffer& input) const {
  const size_t available = input.size();
  const FramePeek found = peek(input.front(), available);
  const bool length_is_split = found.state == FrameState::kMore && found.header_bytes == 0 && !input.is_contiguous();
  return length_is_split ? peek(input.view(std::min(available, kVarintMaxBytes)), available) : found;
}

void VarintFraming::append(Buffer& output, std::string_view body) const {
  check_limit(body.size(), limit_bytes);
  append_varint(output, body.size());
  output.append(body);
}

void VarintFraming::append(Buffer& output, Buffer&& body) const {
  check_limit(body.size(), limit_bytes);
  append_varint(output, body.size());
  output.append(std::move(body));
}

}  // namespace peal
