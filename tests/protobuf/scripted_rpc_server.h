// SPDX-License-Identifier: BSD-3-Clause
// ScriptedRpcServer: a server for muduo's RPC that is made of a plain Server. It stores what it receives. It sends what
// the test wants, even wrong answers. It is used on the test's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <peal/net/server.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <tests/protobuf/echo.pb.h>

namespace peal::test {

struct HeardCall {
  Connection* connection;  // valid while it is open
  uint64_t id;
  std::string service;
  std::string method;
  std::string payload;
  std::optional<uint32_t> deadline_ms;
};

inline constexpr TaggedCodec kRpcCodec{.tag = kRpcTag};

// echo_answer_frame() and rpc_error_frame() return the bytes of one frame that a server sends.
inline std::string echo_answer_frame(uint64_t id, std::string payload) {
  echo::EchoResponse response;
  response.set_payload(std::move(payload));
  Buffer frame;
  append_response(kRpcCodec, frame, id, response);
  return frame.to_string();
}
inline std::string rpc_error_frame(uint64_t id, int32_t error) {
  Buffer frame;
  append_error(frame, id, error);
  return frame.to_string();
}

class ScriptedRpcServer {
 public:
  using OnCall = std::function<void(const HeardCall& call)>;

  // Listens at `address`. If no address is given, listens at a free port of 127.0.0.1.
  explicit ScriptedRpcServer(Loop& loop, OnCall on_call = {}, std::optional<SocketAddress> address = {})
      : on_call_(std::move(on_call)), server_(loop, callbacks()) {
    const Result<SocketAddress> bound = address ? server_.listen(*address) : server_.listen("127.0.0.1:0");
    EXPECT_TRUE(bound) << bound.error().message();
    address_ = bound.value_or(SocketAddress());
  }

  const SocketAddress& address() const { return address_; }

  std::vector<HeardCall> calls;
  std::vector<uint64_t> cancelled;       // ids of the cancelled calls
  std::vector<Connection*> connections;  // the open connections
  size_t connections_ever = 0;
  bool reads = true;  // if false, the input of new connections stays in the kernel

 private:
  ConnectionCallbacks callbacks() {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this](Connection& connection) {
      ++connections_ever;
      connections.push_back(&connection);
      if (!reads) connection.pause();
    };
    callbacks.on_message = [this](Connection& connection, Buffer& input) { hear(connection, input); };
    callbacks.on_close = [this](Connection& connection, CloseReason) { std::erase(connections, &connection); };
    return callbacks;
  }
  void hear(Connection& connection, Buffer& input) {
    Buffer body;
    while (kRpcCodec.next(input, body) == FrameState::kWhole) {
      const auto opened = kRpcCodec.open(body);
      RpcEnvelope envelope;
      ASSERT_TRUE(opened && envelope.read(*opened));
      if (envelope.type() == RpcType::kCancel) {
        cancelled.push_back(envelope.id());
      } else {
        echo::EchoRequest request;
        EXPECT_TRUE(envelope.request().parse_into(request));
        calls.push_back({&connection, envelope.id(), std::string(envelope.service()), std::string(envelope.method()),
                         request.payload(), envelope.deadline_ms()});
        const HeardCall call = calls.back();
        if (on_call_) on_call_(call);
      }
      body = Buffer();
    }
  }

  OnCall on_call_;
  SocketAddress address_;
  Server server_;
};

// Answers a call correctly: the answer has the payload of the request.
inline void answer_truly(const HeardCall& call) { call.connection->send(echo_answer_frame(call.id, call.payload)); }

}  // namespace peal::test
