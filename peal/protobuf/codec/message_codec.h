// SPDX-License-Identifier: BSD-3-Clause
// A message codec is a Framing (peal/wire/framing/frame.h) whose bodies hold protobuf messages. peal has three codecs:
//
//   NamedCodec      len | name_len | type name, NUL | message | adler32   named_codec.h      muduo's ProtobufCodec
//   TaggedCodec     len | tag | message | adler32                         tagged_codec.h     muduo's ProtobufCodecLite
//   DelimitedCodec  varint length | message                               delimited_codec.h  writeDelimitedTo()
//
//   const peal::NamedCodec codec;
//   codec.append(output, query);
//   peal::Buffer body;
//   if (codec.next(input, body) == peal::FrameState::kWhole) {
//     Query query;
//     const auto read = codec.read(body, query);   // fails with a Trouble
//   }
//
// A codec is a value without state. Memory is not reserved when the length of a message arrives, but only for bytes
// that have arrived. A peer cannot use up memory by announcing long messages. Pure; any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <expected>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/wire/framing/frame.h>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace peal {

// The largest value of the field `len` in muduo's formats: 64 MiB. It is the default of each codec's limit_bytes.
inline constexpr size_t kMostMessageBytes = 64 * 1024 * 1024;

// A codec has the functions of a Framing and the two functions below. The body of a frame is the part that follows the
// length field.
//   append(output, message)  appends the frame of `message`
//   read(body, message)      parses the body as the type of `message` and replaces its content; fails with a Trouble
template <class T>
concept MessageCodec =
    Framing<T> && requires(const T& codec, Buffer& buffer, std::string_view body, google::protobuf::Message& message) {
      codec.append(buffer, message);
      { codec.read(body, message) } -> std::same_as<std::expected<void, Trouble>>;
      { codec.read(buffer, message) } -> std::same_as<std::expected<void, Trouble>>;
    };

// Returns the frame of `message`, which Connection::send() can send. Throws as codec.append() does.
template <MessageCodec Its>
Buffer framed(const Its& codec, const google::protobuf::Message& message) {
  Buffer frame;
  codec.append(frame, message);
  return frame;
}

}  // namespace peal
