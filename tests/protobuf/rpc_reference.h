// SPDX-License-Identifier: BSD-3-Clause
// Reads an RpcMessage with RpcEnvelope and with the code that protobuf generates, for tests and fuzzers that compare
// the two. RpcEnvelope does not distinguish a missing field from an empty one. Missing fields are therefore set to
// empty values in both results.
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

// Decodes the bytes with peal's RpcEnvelope. Returns std::nullopt if RpcEnvelope cannot read them.
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

// True if protobuf can parse the bytes as muduo's RpcMessage. The field `error` is an enum in muduo and an int32 in
// peal. The result is nevertheless the same for both types, because protobuf also accepts a number that the enum does
// not have.
inline bool is_muduo_message(std::string_view bytes) {
  const google::protobuf::LogSilencer quiet;
  RpcMessage message;
  return message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())) && message.IsInitialized();
}

inline std::string text_of(const std::optional<RpcMessageOfAnyError>& fields) {
  const google::protobuf::LogSilencer quiet;
  return fields ? fields->ShortDebugString() : "unreadable";
}

// Returns `fields` in protobuf's encoding, or "unreadable" if `fields` is std::nullopt. Callers that compare many
// messages use bytes_of() instead of text_of(), because bytes_of() is faster.
inline std::string bytes_of(const std::optional<RpcMessageOfAnyError>& fields) {
  const google::protobuf::LogSilencer quiet;
  return fields ? fields->SerializeAsString() : "unreadable";
}

// True if the bytes may contain a varint of more than 64 bits: ten bytes, the last of which is above 1. The function
// does not decode the fields, so the ten bytes may also be part of a string.
//
// protobuf drops the bits after the first 64 and accepts the message. Go's protobuf refuses the message, and so does
// peal. The difference does not matter in practice: no field has more than 64 bits, so no program writes a longer
// varint.
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
