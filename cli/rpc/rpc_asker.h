// SPDX-License-Identifier: BSD-3-Clause
// RpcAsker: a connection to an RPC server of whose services nothing is known before: asks what there is, and calls it.
// Each of its questions has the same time for its answer. It belongs to its loop.
#pragma once

#include <expected>
#include <string>
#include <system_error>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cli/command.h>
#include <peal/base/clock.h>
#include <peal/base/socket_address.h>
#include <peal/coro/task.h>
#include <peal/loop/loop.h>
#include <peal/protobuf/rpc/rpc_channel.h>
#include <peal/protobuf/rpc/rpcservice.pb.h>

namespace peal::cli {

class RpcAsker {
 public:
  template <class T>
  using Answer = std::expected<T, CommandTrouble>;

  // `target` is how the address is called in sentences.
  RpcAsker(Loop& loop, std::string target, const SocketAddress& address, Duration timeout);

  const std::string& target() const { return target_; }
  // All services, with their methods.
  Task<Answer<muduo::net::ListRpcResponse>> list();
  // The response may say that there is no such service.
  Task<Answer<muduo::net::GetServiceResponse>> definitions(std::string service);
  // Any method with any messages of its types, which live until the answer.
  Task<Answer<void>> call(const google::protobuf::MethodDescriptor& method, const google::protobuf::Message& request,
                          google::protobuf::Message& response);

 private:
  // Why a call has failed. Connects again to learn why there was no connection.
  Task<CommandTrouble> why(std::error_code error);
  Task<CommandTrouble> why_not_told(std::error_code error);

  const std::string target_;
  const SocketAddress address_;
  const Duration timeout_;
  RpcChannel channel_;
};

}  // namespace peal::cli
