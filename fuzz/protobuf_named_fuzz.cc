// SPDX-License-Identifier: BSD-3-Clause
// NamedCodec. A stream of frames must be read the same way from contiguous bytes and from a chain of blocks. A message
// that was read and then written must be read back.
//
// An input has one byte for the kind, one byte for the block size minus 1, and a stream. If the kind is odd, the stream
// is one body without a checksum, and the test adds the right length and checksum. Without this, almost all changes of
// the fuzzer would be refused because of a wrong length or checksum.
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include <peal/base/result.h>
#include <peal/protobuf/codec/message_types.h>
#include <peal/protobuf/codec/named_codec.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_streams.h>
#include <tests/protobuf/query.pb.h>

namespace peal {
namespace {

constexpr NamedCodec kCodec{.limit_bytes = 100'000};

MessageTypes known_types() {
  MessageTypes types;
  types.add<test::Query>();
  types.add<test::Reply>();
  types.add<test::Nothing>();
  types.add<test::Note>();
  types.add<test::Payload>();
  return types;
}

// Returns the message, or why there is none. `body` is a std::string_view or a Buffer.
template <class Body>
std::expected<std::unique_ptr<google::protobuf::Message>, Trouble> message_in(Body& body) {
  static const MessageTypes kTypes = known_types();
  const std::expected<NamedMessage, Trouble> opened = NamedCodec::open(body);
  if (!opened) return std::unexpected(opened.error());
  std::unique_ptr<google::protobuf::Message> message = kTypes.make(opened->type_name);
  if (message == nullptr) return std::unexpected(Trouble::kUnknownMessageType);
  if (!opened->bytes.parse_into(*message)) return std::unexpected(Trouble::kUnreadableMessage);
  return message;
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  std::string stream(reinterpret_cast<const char*>(data + 2), size - 2);
  if (data[0] % 2 == 1) stream = peal::test::framed_body(peal::test::summed(stream));
  peal::test::check_stream(peal::kCodec, stream, size_t{data[1]} + 1,
                           [](auto& body) { return peal::message_in(body); });
  return 0;
}
