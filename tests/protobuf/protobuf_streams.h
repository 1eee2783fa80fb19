// SPDX-License-Identifier: BSD-3-Clause
// Helpers for tests and fuzzers that read frames of protobuf messages. check_stream() checks that a stream of frames is
// read in the same way, however it is divided into blocks.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>

#include <peal/base/assert.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/protobuf/codec/adler32.h>
#include <peal/protobuf/codec/message_codec.h>
#include <peal/wire/framing/integer_bytes.h>
#include <tests/support/guarded_bytes.h>

namespace peal::test {

// Returns a body in muduo's formats: the bytes `counted`, followed by their checksum (Adler-32).
inline std::string summed(std::string_view counted) {
  std::string body(counted);
  append_integer<4>(body, adler32_of(counted));
  return body;
}

// Returns a frame: the size of `body` as an integer of 4 bytes, then `body`.
inline std::string framed_body(std::string_view body) {
  std::string frame;
  append_integer<4>(frame, body.size());
  return frame.append(body);
}

// Reads the body of one frame twice: from contiguous bytes and from blocks. Checks that both reads have the same
// result. Then writes the message as a frame again, and checks that this frame is read as the same message.
template <class Codec, class Read>
void check_body(const Codec& codec, std::string_view frame, Buffer& body, const Read& read) {
  // Turns protobuf's log off, because the message may contain strings that are not UTF-8. protobuf would log each such
  // string when this function serialises the message.
  const google::protobuf::LogSilencer quiet;
  const FramePeek found = codec.peek(frame);
  // Copies the body, so that the address sanitizer notices if the decoder reads beyond its end.
  const std::string exact(frame.substr(found.header_bytes, found.body_bytes));
  std::string_view view = exact;
  const auto contiguous = read(view);
  const auto in_blocks = read(body);
  PEAL_ASSERT(contiguous.has_value() == in_blocks.has_value(),
              "{} bytes can be read either contiguous or in blocks, not both", exact.size());
  if (!contiguous) {
    PEAL_ASSERT(contiguous.error() == in_blocks.error(), "{} bytes fail with two different errors", exact.size());
    return;
  }
  const google::protobuf::Message& message = **contiguous;
  const std::string bytes = message.SerializePartialAsString();
  PEAL_ASSERT((*in_blocks)->SerializePartialAsString() == bytes, "{} bytes are read as two different messages",
              exact.size());
  // Removes the codec's limit of the message size. protobuf may encode the message in more bytes than the peer did, and
  // framed() throws if the body is longer than the limit.
  Codec writer = codec;
  writer.limit_bytes = SIZE_MAX;
  Buffer again = framed(writer, message);
  Buffer again_body;
  const FrameState state = writer.next(again, again_body);
  PEAL_ASSERT(state == FrameState::kWhole && again.empty(), "a message of {} bytes is not read back", bytes.size());
  const auto back = read(again_body);
  PEAL_ASSERT(back && (*back)->SerializePartialAsString() == bytes, "a message of {} bytes is read back differently",
              bytes.size());
}

// Reads all frames of a stream, once from contiguous bytes and once from blocks of `block_bytes`. Checks that both give
// the same messages. `read` decodes one body: it takes a std::string_view& or a Buffer&, and returns a message or an
// error.
template <class Codec, class Read>
void check_stream(const Codec& codec, std::string_view stream, size_t block_bytes, const Read& read) {
  Buffer chain = in_parts(stream, block_bytes);
  for (;;) {
    const FramePeek found = codec.peek(stream);
    Buffer body;
    const FrameState state = codec.next(chain, body);
    PEAL_ASSERT(state == found.state, "{} bytes in blocks of {} are framed differently", stream.size(), block_bytes);
    if (state != FrameState::kWhole) return;
    PEAL_ASSERT(body.size() == found.body_bytes && found.frame_bytes() <= stream.size(),
                "a different frame of {} bytes", body.size());
    check_body(codec, stream.substr(0, found.frame_bytes()), body, read);
    stream.remove_prefix(found.frame_bytes());
  }
}

}  // namespace peal::test
