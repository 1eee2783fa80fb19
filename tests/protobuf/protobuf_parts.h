// SPDX-License-Identifier: BSD-3-Clause
// Helpers for tests of protobuf messages. They put bytes into blocks and parse messages from text.
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

// The bytes of an encoded message of the type Query. Its id is 1, and its questioner is "q".
inline const std::string kQueryBytes("\x08\x01\x12\x01q", 5);

inline std::string sentence(Trouble trouble) { return make_error_code(trouble).message(); }

inline std::string frame_of(const google::protobuf::Message& message) { return framed(kNamed, message).to_string(); }

// Returns `length` as an integer of 4 bytes, followed by `rest`. The size of `rest` may differ from `length`, so that a
// test can make incomplete frames and frames with a wrong length.
inline std::string with_length(uint32_t length, std::string_view rest = {}) {
  std::string bytes;
  append_integer<4>(bytes, length);
  return bytes.append(rest);
}

// Returns an empty message of the type `name`. Returns null if the program contains no such type.
inline std::unique_ptr<google::protobuf::Message> message_of_type(const std::string& name) {
  const auto* type = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(name);
  if (type == nullptr) return nullptr;
  const auto* prototype = google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
  return std::unique_ptr<google::protobuf::Message>(prototype->New());
}

// Returns the message that `text` describes in protobuf's text format.
template <class T>
T message(const std::string& text) {
  T parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed)) << text;
  return parsed;
}

// Reads `body` as a message of type T. Returns "read" if that succeeds, otherwise the text of the error. Also reads
// `body` from Buffers with blocks of 1 byte, of 2 bytes and so on, up to one block with the whole body. Each read must
// have the same result, because the size of the blocks must not matter.
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

// Returns a Buffer with one block for each piece. Empty pieces are skipped.
inline Buffer in_pieces(std::initializer_list<std::string_view> pieces) {
  Buffer chain;
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) chain.append(in_parts(piece, piece.size()));
  }
  return chain;
}

// Makes the codec that `name` selects ("named", "tagged" or "delimited"), and calls `use` with it.
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
