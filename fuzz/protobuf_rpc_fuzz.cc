// SPDX-License-Identifier: BSD-3-Clause
// RpcEnvelope. It must read the same fields as protobuf's generated code, from contiguous bytes and from a chain of
// blocks. What it writes must be the frame that generated code makes, and must be read back.
//
// An input has one byte for the kind, one byte for the block size minus 1, and a stream. If the kind is odd, the stream
// is one message, and the test adds the right length, tag and checksum. Without this, almost all changes of the fuzzer
// would be refused because of a wrong length, tag or checksum.
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_streams.h>
#include <tests/protobuf/rpc_message.pb.h>
#include <tests/protobuf/rpc_reference.h>

namespace peal {
namespace {

using test::RpcMessageOfAnyError;

constexpr TaggedCodec kRpc{.tag = kRpcTag, .limit_bytes = 100'000};

// Writes the fields that peal writes in a message of this type. Asserts that the frame is the one that generated code
// makes.
void check_written(const RpcMessageOfAnyError& fields) {
  const google::protobuf::LogSilencer quiet;  // silences warnings about names that are not UTF-8
  constexpr TaggedCodec kWriter{.tag = kRpcTag};
  test::Payload payload;
  RpcMessageOfAnyError expected;
  expected.set_type(fields.type());
  expected.set_id(fields.id());
  Buffer output;
  if (fields.type() == test::RpcMessage::REQUEST) {
    payload.set_payload(fields.request());
    expected.set_service(fields.service());
    expected.set_method(fields.method());
    expected.set_request(payload.SerializeAsString());
    if (fields.has_deadline()) expected.set_deadline(fields.deadline());
    const auto deadline_ms = fields.has_deadline() ? std::optional(fields.deadline()) : std::nullopt;
    append_request(
        kWriter, output,
        {.id = fields.id(), .service = fields.service(), .method = fields.method(), .deadline_ms = deadline_ms},
        payload);
  } else if (fields.type() == test::RpcMessage::ERROR) {
    append_cancel(output, fields.id());
  } else if (fields.error() != 0) {
    expected.set_error(fields.error());
    append_error(output, fields.id(), fields.error());
  } else {
    payload.set_payload(fields.response());
    expected.set_response(payload.SerializeAsString());
    append_response(kWriter, output, fields.id(), payload);
  }
  const std::string frame = test::framed_body(test::summed("RPC0" + expected.SerializeAsString()));
  PEAL_ASSERT(output.to_string() == frame, "{} are written differently by generated code", test::text_of(expected));
}

// Returns the fields of the message. Asserts that both readers agree on them. `body` is a std::string_view or a Buffer.
template <class Body>
std::expected<std::unique_ptr<google::protobuf::Message>, Trouble> fields_in(Body& body) {
  const std::expected<MessageBytes, Trouble> opened = kRpc.open(body);
  if (!opened) return std::unexpected(opened.error());
  const std::string bytes = opened->to_string();
  const std::optional<RpcMessageOfAnyError> fields = test::read_by_peal(*opened);
  if (fields || !test::may_hold_too_wide_varint(bytes)) {
    const std::optional<RpcMessageOfAnyError> expected = test::read_by_protobuf(bytes);
    PEAL_ASSERT(test::bytes_of(fields) == test::bytes_of(expected), "peal reads {} and protobuf {}",
                test::text_of(fields), test::text_of(expected));
    PEAL_ASSERT(test::is_muduo_message(bytes) == fields.has_value(), "muduo reads {} differently",
                test::text_of(fields));
  }
  if (!fields) return std::unexpected(Trouble::kUnreadableMessage);
  check_written(*fields);
  return std::make_unique<RpcMessageOfAnyError>(*fields);
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  std::string stream(reinterpret_cast<const char*>(data + 2), size - 2);
  if (data[0] % 2 == 1) stream = peal::test::framed_body(peal::test::summed("RPC0" + stream));
  peal::test::check_stream(peal::kRpc, stream, size_t{data[1]} + 1, [](auto& body) { return peal::fields_in(body); });
  return 0;
}
