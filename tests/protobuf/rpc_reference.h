// SPDX-License-Identifier: BSD-3-Clause
// An RpcMessage as RpcEnvelope reads it, and as protobuf's generated code does, for tests and fuzzers that compare the
// two. A field that is missing is empty in both: an envelope does not tell that from an empty one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <google/protobuf/stubs/logging.h>

#include <peal/protobuf/codec/message_bytes.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <tests/protobuf/rpc_message.pb.h>

namespace peal::test {

inline RpcMessageOfAnyError fields_of(const RpcEnvelope& envelope) {
  RpcMessageOfAnyError fields;
  fields.set_type(static_cast<RpcMessage::Type>(envelope.type()));
  fields.set_id(envelope.id());
  fields.set_service(std::string(envelope.service()));
  fields.set_method(std::string(envelope.method()));
  fields.set_request(envelope.request().to_string());
  fields.set_response(envelope.response().to_string());
  fields.set_error(envelope.error());
  if (envelope.deadline_ms()) fields.set_deadline(*envelope.deadline_ms());
  return fields;
}

// Nothing if the bytes are unreadable.
inline std::optional<RpcMessageOfAnyError> read_by_peal(const MessageBytes& bytes) {
  RpcEnvelope envelope;
  if (!envelope.read(bytes)) return std::nullopt;
  return fields_of(envelope);
}

inline std::optional<RpcMessageOfAnyError> read_by_protobuf(std::string_view bytes) {
  const google::protobuf::LogSilencer quiet;
  const auto size = static_cast<int>(bytes.size());
  RpcMessageOfAnyError fields;
  if (!fields.ParsePartialFromArray(bytes.data(), size) || !fields.IsInitialized()) return std::nullopt;
  fields.DiscardUnknownFields();
  fields.mutable_service();
  fields.mutable_method();
  fields.mutable_request();
  fields.mutable_response();
  fields.set_error(fields.error());
  return fields;
}

// Whether muduo can read the bytes: its type of `error` does not change that.
inline bool is_muduo_message(std::string_view bytes) {
  const google::protobuf::LogSilencer quiet;
  RpcMessage message;
  return message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())) && message.IsInitialized();
}

inline std::string text_of(const std::optional<RpcMessageOfAnyError>& fields) {
  const google::protobuf::LogSilencer quiet;
  return fields ? fields->ShortDebugString() : "unreadable";
}

// Their bytes, which are compared faster than their text.
inline std::string bytes_of(const std::optional<RpcMessageOfAnyError>& fields) {
  const google::protobuf::LogSilencer quiet;
  return fields ? fields->SerializeAsString() : "unreadable";
}

// A varint of ten bytes whose last one holds more than the 64th bit. protobuf drops the other bits. peal refuses the
// message, as Go's protobuf does: no writer makes such a varint.
inline bool may_hold_too_wide_varint(std::string_view bytes) {
  size_t continued = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (continued >= 9 && byte >= 2) return true;
    continued = byte >= 0x80 ? continued + 1 : 0;
  }
  return false;
}

}  // namespace peal::test
