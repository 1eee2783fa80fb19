// SPDX-License-Identifier: BSD-3-Clause
// RpcAsker: a connection to an RPC server whose services this program does not know. It asks the server for its
// services, and calls their methods. All requests have the same timeout. Use an RpcAsker only on the thread of its
// loop.
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

  // Begins to connect to `address`. `target` is the name of the server in error messages. Connecting may take at most
  // `timeout`. Each request may also take at most `timeout`.
  RpcAsker(Loop& loop, std::string target, const SocketAddress& address, Duration timeout);

  const std::string& target() const { return target_; }
  // Asks the server for the names of all its services and methods.
  Task<Answer<muduo::net::ListRpcResponse>> list();
  // Asks the server for the definitions of `service`. If the server has no such service, the field `error` of the
  // response says so.
  Task<Answer<muduo::net::GetServiceResponse>> definitions(std::string service);
  // Calls `method`. `request` and `response` must have the types of the method, and must exist until the call has
  // ended.
  Task<Answer<void>> call(const google::protobuf::MethodDescriptor& method, const google::protobuf::Message& request,
                          google::protobuf::Message& response);

 private:
  // Returns why a call has failed with `error`. The error kNotConnected does not say why there is no connection. For
  // this error, connects once more, because the error of a failed attempt says the reason. If the attempt succeeds, the
  // result contains the text of kNotConnected.
  Task<CommandTrouble> why(std::error_code error);
  // Returns why the server did not list its services or did not send its definitions. Clients ask for both by the
  // service muduo.net.RpcService. If the server lacks this service or a method of the service, the result says so. For
  // all other errors, the result is that of why().
  Task<CommandTrouble> why_not_told(std::error_code error);

  const std::string target_;
  const SocketAddress address_;
  const Duration timeout_;
  RpcChannel channel_;
};

}  // namespace peal::cli
