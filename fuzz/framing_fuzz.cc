// SPDX-License-Identifier: BSD-3-Clause
// Framings. The messages found in a chain of blocks must be those that a simple reader finds in contiguous bytes. What
// a framing appends, it must read back.
//
// An input has four bytes and a stream. The four bytes are the kind, a parameter, the limit and the block size minus 1.
// A limit of 255 means that there is no limit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/delimiter_framing.h>
#include <peal/wire/framing/length_framing.h>

namespace peal {
namespace {

// The first message, found byte by byte. The sizes are valid only if the state is kWhole.
struct Found {
  FrameState state = FrameState::kMore;
  size_t header_bytes = 0;
  size_t body_bytes = 0;
  size_t trailer_bytes = 0;
};

Found judged(std::string_view bytes, size_t header_bytes, uint64_t body_bytes, size_t limit_bytes) {
  if (body_bytes > limit_bytes) return {FrameState::kTooLong};
  if (bytes.size() - header_bytes < body_bytes) return {};
  return {FrameState::kWhole, header_bytes, static_cast<size_t>(body_bytes), 0};
}

Found find_first(const LengthFraming& framing, std::string_view bytes) {
  if (bytes.size() < framing.length_bytes) return {};
  uint64_t length = 0;
  for (size_t at = 0; at < framing.length_bytes; ++at) {
    const size_t place = framing.big_endian ? at : framing.length_bytes - 1 - at;
    length = length * 256 + static_cast<unsigned char>(bytes[place]);
  }
  if (!framing.counts_itself) return judged(bytes, framing.length_bytes, length, framing.limit_bytes);
  if (length < framing.length_bytes) return {FrameState::kTooShort};
  return judged(bytes, framing.length_bytes, length - framing.length_bytes, framing.limit_bytes);
}

Found find_first(const VarintFraming& framing, std::string_view bytes) {
  uint64_t length = 0;
  uint64_t scale = 1;  // 128 to the power of `at`
  for (size_t at = 0; at < 10; ++at, scale *= 128) {
    if (at == bytes.size()) return {};
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (byte % 128 > UINT64_MAX / scale) break;
    length += byte % 128 * scale;
    if (byte < 128) return judged(bytes, at + 1, length, framing.limit_bytes);
  }
  return {FrameState::kTooLong};
}

Found find_first(const LineFraming& framing, std::string_view bytes) {
  for (size_t at = 0; at < bytes.size(); ++at) {
    const bool after_cr = at > 0 && bytes[at - 1] == '\r';
    const bool newline = bytes[at] == '\n';
    // The line has at least this many bytes. A CR may still be part of its end.
    const size_t line_bytes = newline && after_cr ? at - 1 : at + (newline || bytes[at] == '\r' ? 0 : 1);
    if (line_bytes > framing.limit_bytes) return {FrameState::kTooLong};
    if (newline) return {FrameState::kWhole, 0, line_bytes, at + 1 - line_bytes};
  }
  return {};
}

Found find_first(const DelimiterFraming& framing, std::string_view bytes) {
  const std::string_view delimiter = framing.delimiter;
  for (size_t at = 0; at + delimiter.size() <= bytes.size(); ++at) {
    if (std::ranges::equal(bytes.substr(at, delimiter.size()), delimiter)) {
      return {FrameState::kWhole, 0, at, delimiter.size()};
    }
    if (at == framing.limit_bytes) return {FrameState::kTooLong};
  }
  return {};
}

// Makes a chain of blocks. Blocks of shared bytes are never joined with others, so the sanitizer guards the end of
// each.
Buffer in_blocks(std::string_view bytes, size_t block_bytes) {
  Buffer chain;
  for (size_t at = 0; at < bytes.size(); at += block_bytes) {
    const SharedBytes shared = share_bytes(std::string(bytes.substr(at, block_bytes)));
    const auto size = static_cast<uint32_t>(shared->size());
    chain.append(Buffer(BlockPool::here().wrap(shared, 0, size), 0, size));
  }
  return chain;
}

void check_peek(const FramePeek& peek, const Found& expected, size_t bytes) {
  PEAL_ASSERT(peek.state == expected.state, "peek() of {} bytes: {}, expected {}", bytes, static_cast<int>(peek.state),
              static_cast<int>(expected.state));
  if (peek.state != FrameState::kWhole) return;
  PEAL_ASSERT(peek.header_bytes == expected.header_bytes && peek.body_bytes == expected.body_bytes &&
                  peek.trailer_bytes == expected.trailer_bytes,
              "peek() of {} bytes: a body of {} bytes, expected {}", bytes, peek.body_bytes, expected.body_bytes);
}

// Reads all messages from the whole stream, and again while the stream arrives block by block.
template <class Its>
void check_reading(const Its& framing, std::string_view stream, size_t block_bytes) {
  Buffer whole = in_blocks(stream, block_bytes);
  Buffer frames = in_blocks(stream, block_bytes);
  Buffer arriving;
  size_t arrived = 0;
  std::string_view left = stream;
  for (;;) {
    const std::string exact(left);  // a copy, so the sanitizer finds reads beyond its end
    const Found expected = find_first(framing, exact);
    check_peek(framing.peek(exact), expected, exact.size());
    check_peek(framing.peek(whole), expected, exact.size());
    Buffer body("before");
    Buffer frame("before");
    Buffer late("before");
    const FrameState state = framing.next(whole, body);
    PEAL_ASSERT(state == expected.state && framing.next_frame(frames, frame) == state,
                "next() and peek() return different states");
    FrameState arriving_state = framing.next(arriving, late);
    while (arriving_state == FrameState::kMore && arrived < stream.size()) {
      const std::string_view part = stream.substr(arrived, block_bytes);
      arriving.append(in_blocks(part, block_bytes));
      arrived += part.size();
      arriving_state = framing.next(arriving, late);
    }
    PEAL_ASSERT(arriving_state == state, "the state differs if blocks of {} bytes arrive", block_bytes);
    if (state != FrameState::kWhole) {
      PEAL_ASSERT(body.view() == "before" && frame.view() == "before" && late.view() == "before",
                  "a body was changed without a message");
      PEAL_ASSERT(whole.view() == left && frames.view() == left, "the input was changed without a message");
      return;
    }
    const size_t frame_bytes = expected.header_bytes + expected.body_bytes + expected.trailer_bytes;
    PEAL_ASSERT(body.size() <= framing.limit_bytes, "{} bytes are over the limit", body.size());
    PEAL_ASSERT(body.view() == left.substr(expected.header_bytes, expected.body_bytes), "next() returns another body");
    PEAL_ASSERT(late.view() == body.view(), "next() returns another body if blocks arrive one by one");
    PEAL_ASSERT(frame.view() == left.substr(0, frame_bytes), "next_frame() returns another frame");
    left.remove_prefix(frame_bytes);
    PEAL_ASSERT(whole.size() == left.size(), "{} bytes left, expected {}", whole.size(), left.size());
  }
}

// Appends `body` and reads it back, unless append() refuses it.
template <class Its>
void check_writing(const Its& framing, std::string_view body) {
  Buffer output;
  try {
    framing.append(output, body);
  } catch (const std::invalid_argument&) {
    PEAL_ASSERT(!output.holds_blocks(), "a refused body of {} bytes left {} bytes of output", body.size(),
                output.size());
    return;
  }
  framing.append(output, body);
  for (int at = 0; at < 2; ++at) {
    Buffer back;
    const FrameState state = framing.next(output, back);
    PEAL_ASSERT(state == FrameState::kWhole && back.view() == body, "{} bytes are not read back", body.size());
  }
  PEAL_ASSERT(output.empty(), "{} bytes are left after two messages", output.size());
}

// Checks reading and writing. A message that was read can also be written.
template <class Its>
void check(const Its& framing, std::string_view stream, size_t block_bytes) {
  check_reading(framing, stream, block_bytes);
  check_writing(framing, stream);
  const Found first = find_first(framing, stream);
  if (first.state == FrameState::kWhole) {
    Buffer output;
    framing.append(output, stream.substr(first.header_bytes, first.body_bytes));
  }
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const uint8_t parameter = data[1];
  const size_t limit_bytes = data[2] == 255 ? SIZE_MAX : data[2];
  const size_t block_bytes = size_t{data[3]} + 1;
  std::string_view stream(reinterpret_cast<const char*>(data + 4), size - 4);
  switch (data[0] % 4) {
    case 0: {
      const peal::LengthFraming framing{.length_bytes = parameter % 8U + 1,
                                        .big_endian = (parameter & 8) != 0,
                                        .counts_itself = (parameter & 16) != 0,
                                        .limit_bytes = limit_bytes};
      peal::check(framing, stream, block_bytes);
      break;
    }
    case 1: peal::check(peal::VarintFraming{.limit_bytes = limit_bytes}, stream, block_bytes); break;
    case 2: {
      const peal::LineFraming framing{.limit_bytes = limit_bytes, .ends_in_crlf = (parameter & 1) != 0};
      peal::check(framing, stream, block_bytes);
      break;
    }
    default: {
      // The delimiter is the beginning of the stream.
      const size_t delimiter_bytes = std::min<size_t>(parameter % 16U + 1, stream.size());
      if (delimiter_bytes == 0) return 0;
      const peal::DelimiterFraming framing{.delimiter = std::string(stream.substr(0, delimiter_bytes)),
                                           .limit_bytes = limit_bytes};
      peal::check(framing, stream.substr(delimiter_bytes), block_bytes);
    }
  }
  return 0;
}
