// SPDX-License-Identifier: BSD-3-Clause
// RpcEnvelope reads the RpcMessage of muduo's rpc.proto. Each frame of the RPC (TaggedCodec with kRpcTag) holds one
// RpcMessage. RpcEnvelope reads it without copying, and the append functions below write it without building a
// protobuf object. RpcServer and RpcChannel use this file. A proxy that forwards calls without parsing their requests
// may use it too.
//
//   message RpcMessage {            // proto2
//     required MessageType type = 1;     // REQUEST = 1, RESPONSE = 2, ERROR = 3
//     required fixed64 id = 2;
//     optional string service = 3;
//     optional string method = 4;
//     optional bytes request = 5;
//     optional bytes response = 6;
//     optional ErrorCode error = 7;
//     optional uint32 deadline = 100;    // an extension of peal: milliseconds left until the deadline
//   }
//
// A server reports an error by a RESPONSE with `error`. A message of type ERROR is an extension of peal: by it, a
// client cancels its call. muduo ignores such messages, and the deadline. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <forward_list>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/protobuf/codec/message_bytes.h>
#include <peal/protobuf/codec/tagged_codec.h>

namespace peal {

// The values of the field `type` of an RpcMessage. kCancel is called ERROR in muduo.
enum class RpcType : uint8_t { kRequest = 1, kResponse = 2, kCancel = 3 };

class RpcEnvelope {
 public:
  RpcEnvelope() = default;
  // Copying is forbidden because service() and method() may refer to memory that this object owns.
  RpcEnvelope(const RpcEnvelope&) = delete;
  RpcEnvelope& operator=(const RpcEnvelope&) = delete;

  // Reads an RpcMessage. The fields may come in any order; if a field comes twice, the last value is used. Fails with
  // Trouble::kUnreadableMessage if the bytes are no RpcMessage or lack the type or the id. This object refers to the
  // memory of `bytes`, which must outlive it. Call read() or read_body() only once for each object.
  std::expected<void, Trouble> read(const MessageBytes& bytes);

  // Reads the RpcMessage in the body of a frame. Fails as read() does, and with the errors of TaggedCodec::open().
  std::expected<void, Trouble> read_body(const TaggedCodec& codec, std::string_view body) {
    return read_opened(codec.open(body));
  }
  std::expected<void, Trouble> read_body(const TaggedCodec& codec, Buffer& body) {
    return read_opened(codec.open(body));
  }

  // type() and id() return the fields that each message has. They may be called only after read() has succeeded.
  RpcType type() const { return *type_; }
  uint64_t id() const { return *id_; }

  // service(), method(), request() and response() return optional fields. The result is empty if the message lacks the
  // field.
  std::string_view service() const { return service_; }
  std::string_view method() const { return method_; }
  const MessageBytes& request() const { return request_; }
  const MessageBytes& response() const { return response_; }
  // Returns the error number that the server has answered, or 0 if the message has none.
  int32_t error() const { return error_; }
  // Returns the milliseconds that were left until the deadline when the message was written. Returns nullopt if the
  // message has no deadline.
  std::optional<uint32_t> deadline_ms() const { return deadline_ms_; }

 private:
  std::expected<void, Trouble> read_opened(const std::expected<MessageBytes, Trouble>& opened);
  template <class Input>
  bool read_fields(Input& input);
  template <class Input>
  bool read_field(Input& input, uint32_t key);
  void set_number(uint32_t key, uint64_t value);
  template <class Bytes>
  void set_bytes(uint32_t key, const Bytes& bytes);
  static std::string_view text_of(std::string_view bytes) { return bytes; }
  std::string_view text_of(const MessageBytes& bytes);
  std::string_view take_type_and_id(std::string_view bytes);

  std::optional<RpcType> type_;
  std::optional<uint64_t> id_;
  std::string_view service_;
  std::string_view method_;
  std::forward_list<std::string> joined_;  // copies of the names that lie in several blocks
  MessageBytes request_;
  MessageBytes response_;
  int32_t error_ = 0;
  std::optional<uint32_t> deadline_ms_;
};

// The fields of a request except its payload.
struct RpcRequestHead {
  uint64_t id;
  std::string_view service;
  std::string_view method;
  std::optional<uint32_t> deadline_ms;  // nullopt: the request has no deadline
};

// Each of these four functions appends one frame to `output`. Fields are written in the order of their numbers.
// append_request() and append_response() throw std::invalid_argument, and append nothing, if the payload lacks a
// required field or the frame is longer than codec.limit_bytes. The frame's size is estimated for that check. A frame
// may therefore be refused although it is up to 40 bytes shorter than the limit.
void append_request(const TaggedCodec& codec, Buffer& output, const RpcRequestHead& head,
                    const google::protobuf::Message& request);
void append_response(const TaggedCodec& codec, Buffer& output, uint64_t id, const google::protobuf::Message& response);
void append_error(Buffer& output, uint64_t id, int32_t error);
void append_cancel(Buffer& output, uint64_t id);

// The tag at the beginning of each frame of the RPC protocol, for TaggedCodec::tag.
inline constexpr std::string_view kRpcTag = "RPC0";

}  // namespace peal
