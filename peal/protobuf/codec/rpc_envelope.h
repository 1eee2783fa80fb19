// SPDX-License-Identifier: BSD-3-Clause
// RpcEnvelope: the RpcMessage of muduo's rpc.proto, which each frame of the RPC (TaggedCodec, with kRpcTag) holds. It
// is read where it lies, and written without an object of it. RpcServer and RpcChannel use it; a program that passes
// calls on without looking into them may, too.
//
//   message RpcMessage {            // proto2
//     required MessageType type = 1;     // REQUEST = 1, RESPONSE = 2, ERROR = 3
//     required fixed64 id = 2;
//     optional string service = 3;
//     optional string method = 4;
//     optional bytes request = 5;
//     optional bytes response = 6;
//     optional ErrorCode error = 7;
//     optional uint32 deadline = 100;    // peal's own: the milliseconds that are left
//   }
//
// A server's error is a RESPONSE with `error`. An ERROR is peal's own: the client gives the call up. muduo ignores it,
// and the deadline. Pure; any thread.
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

enum class RpcType : uint8_t { kRequest = 1, kResponse = 2, kCancel = 3 };

class RpcEnvelope {
 public:
  RpcEnvelope() = default;
  // Its texts may refer to memory of its own.
  RpcEnvelope(const RpcEnvelope&) = delete;
  RpcEnvelope& operator=(const RpcEnvelope&) = delete;

  // Reads a message, in any order of its fields; the last one of a kind counts. Trouble::kUnreadableMessage: the bytes
  // are no RpcMessage, or have no type or no id. It refers to `bytes`, which must live as long. Call it once.
  std::expected<void, Trouble> read(const MessageBytes& bytes);

  // Reads the body of a frame. It fails as read() does, and with the errors of TaggedCodec::open().
  std::expected<void, Trouble> read_body(const TaggedCodec& codec, std::string_view body) {
    return read_opened(codec.open(body));
  }
  std::expected<void, Trouble> read_body(const TaggedCodec& codec, Buffer& body) {
    return read_opened(codec.open(body));
  }

  RpcType type() const { return *type_; }
  uint64_t id() const { return *id_; }
  // Each of the next four is empty if the message lacks it.
  std::string_view service() const { return service_; }
  std::string_view method() const { return method_; }
  const MessageBytes& request() const { return request_; }
  const MessageBytes& response() const { return response_; }
  // 0: none.
  int32_t error() const { return error_; }
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
  std::forward_list<std::string> joined_;  // texts that lie in several blocks
  MessageBytes request_;
  MessageBytes response_;
  int32_t error_ = 0;
  std::optional<uint32_t> deadline_ms_;
};

struct RpcRequestHead {
  uint64_t id;
  std::string_view service;
  std::string_view method;
  std::optional<uint32_t> deadline_ms;
};

// Each appends a frame. append_request() and append_response() throw std::invalid_argument as TaggedCodec::append()
// does, and may do so 40 bytes below the limit. Fields are written in the order of their numbers, the deadline last.
void append_request(const TaggedCodec& codec, Buffer& output, const RpcRequestHead& head,
                    const google::protobuf::Message& request);
void append_response(const TaggedCodec& codec, Buffer& output, uint64_t id, const google::protobuf::Message& response);
void append_error(Buffer& output, uint64_t id, int32_t error);
void append_cancel(Buffer& output, uint64_t id);

inline constexpr std::string_view kRpcTag = "RPC0";

}  // namespace peal
