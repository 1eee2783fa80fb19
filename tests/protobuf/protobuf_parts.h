// SPDX-License-Identifier: BSD-3-Clause
// For tests of protobuf messages: bytes in blocks, and messages as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/protobuf/codec/delimited_codec.h>
#include <peal/protobuf/codec/named_codec.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <tests/protobuf/protobuf_streams.h>
#include <tests/support/guarded_bytes.h>

namespace peal::test {

inline constexpr NamedCodec kNamed;
inline constexpr TaggedCodec kTagged{.tag = "RPC0"};
inline constexpr DelimitedCodec kDelimited;

// A Query of an id and a questioner, on the wire.
inline const std::string kQueryBytes("\x08\x01\x12\x01q", 5);

inline std::string sentence(Trouble trouble) { return make_error_code(trouble).message(); }

inline std::string frame_of(const google::protobuf::Message& message) { return framed(kNamed, message).to_string(); }

// A length of 4 bytes, and what follows it.
inline std::string with_length(uint32_t length, std::string_view rest = {}) {
  std::string bytes;
  append_integer<4>(bytes, length);
  return bytes.append(rest);
}

// An empty message of a type that is linked in.
inline std::unique_ptr<google::protobuf::Message> message_of_type(const std::string& name) {
  const auto* type = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(name);
  if (type == nullptr) return nullptr;
  const auto* prototype = google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
  return std::unique_ptr<google::protobuf::Message>(prototype->New());
}

// A message from protobuf's text format.
template <class T>
T message(const std::string& text) {
  T parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed)) << text;
  return parsed;
}

// What reading the body as a T says: "read", or the sentence of the Trouble. Expects the same of pieces of every size.
template <class T, class Codec>
std::string told_by_read(const Codec& codec, const std::string& body) {
  T message;
  const auto told = [](const std::expected<void, Trouble>& read) { return read ? "read" : sentence(read.error()); };
  const std::string text = told(codec.read(body, message));
  for (size_t part = 1; part <= body.size(); ++part) {
    Buffer chain = in_parts(body, part);
    EXPECT_EQ(told(codec.read(chain, message)), text) << "in parts of " << part;
  }
  return text;
}

// The bytes in blocks that end where each piece ends.
inline Buffer in_pieces(std::initializer_list<std::string_view> pieces) {
  Buffer chain;
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) chain.append(in_parts(piece, piece.size()));
  }
  return chain;
}

// Calls `use` with the codec of that name: named, tagged or delimited.
template <class Use>
void with_codec(std::string_view name, std::string_view tag, const Use& use) {
  if (name == "named") {
    use(NamedCodec{});
  } else if (name == "tagged") {
    use(TaggedCodec{.tag = tag});
  } else {
    ASSERT_EQ(name, "delimited");
    use(DelimitedCodec{});
  }
}

}  // namespace peal::test
