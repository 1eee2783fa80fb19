// SPDX-License-Identifier: BSD-3-Clause
// Frames of protobuf messages for tests and fuzzers, and a check that a stream of them is read the same way however its
// blocks are cut.
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

// The body of a frame of muduo's formats: the bytes and their checksum.
inline std::string summed(std::string_view counted) {
  std::string body(counted);
  append_integer<4>(body, adler32_of(counted));
  return body;
}

// Its length in front of it.
inline std::string framed_body(std::string_view body) {
  std::string frame;
  append_integer<4>(frame, body.size());
  return frame.append(body);
}

// Reads the first body of a stream in both ways.
template <class Codec, class Read>
void check_body(const Codec& codec, std::string_view frame, Buffer& body, const Read& read) {
  const google::protobuf::LogSilencer quiet;  // what is no UTF-8 is serialised here, too
  const FramePeek found = codec.peek(frame);
  const std::string exact(frame.substr(found.header_bytes, found.body_bytes));  // the sanitizer guards its end
  std::string_view view = exact;
  const auto contiguous = read(view);
  const auto in_blocks = read(body);
  PEAL_ASSERT(contiguous.has_value() == in_blocks.has_value(), "{} bytes can be read in one way only", exact.size());
  if (!contiguous) {
    PEAL_ASSERT(contiguous.error() == in_blocks.error(), "{} bytes fail in two ways", exact.size());
    return;
  }
  const google::protobuf::Message& message = **contiguous;
  const std::string bytes = message.SerializePartialAsString();
  PEAL_ASSERT((*in_blocks)->SerializePartialAsString() == bytes, "two messages of {} bytes", exact.size());
  // What protobuf writes may be longer than what a peer wrote: an enormous limit, then.
  Codec writer = codec;
  writer.limit_bytes = SIZE_MAX;
  Buffer again = framed(writer, message);
  Buffer again_body;
  const FrameState state = writer.next(again, again_body);
  PEAL_ASSERT(state == FrameState::kWhole && again.empty(), "a message of {} bytes is not read back", bytes.size());
  const auto back = read(again_body);
  PEAL_ASSERT(back && (*back)->SerializePartialAsString() == bytes, "{} bytes are read back otherwise", bytes.size());
}

// Reads all messages of the stream. `read` takes a std::string_view& or a Buffer& and answers a message, or why not.
template <class Codec, class Read>
void check_stream(const Codec& codec, std::string_view stream, size_t block_bytes, const Read& read) {
  Buffer chain = in_parts(stream, block_bytes);
  for (;;) {
    const FramePeek found = codec.peek(stream);
    Buffer body;
    const FrameState state = codec.next(chain, body);
    PEAL_ASSERT(state == found.state, "{} bytes in blocks of {} are framed otherwise", stream.size(), block_bytes);
    if (state != FrameState::kWhole) return;
    PEAL_ASSERT(body.size() == found.body_bytes && found.frame_bytes() <= stream.size(), "another frame of {} bytes",
                body.size());
    check_body(codec, stream.substr(0, found.frame_bytes()), body, read);
    stream.remove_prefix(found.frame_bytes());
  }
}

}  // namespace peal::test
