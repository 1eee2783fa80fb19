// SPDX-License-Identifier: BSD-3-Clause
// RpcCore is the part of an RpcServer that all its loops share: the methods and the options. RpcMethod is one of the
// methods. The core is owned jointly by the server, by the callbacks of its connections, and by the calls whose
// coroutine or service has not ended.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/service.h>

#include <peal/base/callback.h>
#include <peal/coro/task.h>
#include <peal/net/connection_callbacks.h>
#include <peal/protobuf/bad_message.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <peal/protobuf/rpc/rpc_server.h>

namespace peal::detail {

class RpcShard;

// A method that the server serves, together with its handler.
struct RpcMethod {
  using Function = SharedCallback<void(RpcCall&, const google::protobuf::Message&, google::protobuf::Message&)>;
  using Coroutine = SharedCallback<Task<>(RpcCall&, const google::protobuf::Message&, google::protobuf::Message&)>;

  const google::protobuf::MethodDescriptor& descriptor;
  const google::protobuf::Message& request;   // the prototype of its requests
  const google::protobuf::Message& response;  // the prototype of its responses
  const std::variant<Function, Coroutine, google::protobuf::Service*> handler;
  const size_t index;  // its index in RpcCore::methods()

  // Returns true if this is the method `name` of the service with the full name `service`.
  bool is(std::string_view service, std::string_view name) const {
    return descriptor.name() == name && descriptor.service()->full_name() == service;
  }
};

class RpcCore : public std::enable_shared_from_this<RpcCore> {
 public:
  explicit RpcCore(const RpcServerOptions& options);
  ~RpcCore();

  // Adds a loop of the server and creates the loop's shard. Called only by the constructor of RpcServer.
  void add(Loop& loop);
  const std::vector<std::unique_ptr<RpcShard>>& shards() const { return shards_; }
  RpcShard& shard_of(const Loop& loop) const;

  // Returns the callbacks for all connections of the server. The callbacks create an RpcSession for each connection and
  // store it as the connection's context.
  SharedConnectionCallbacks callbacks();

  // Adds a method with its handler: a function, a coroutine or a service. Throws std::invalid_argument if the method
  // was added before. Must not be called after seal() (asserted).
  void add(const google::protobuf::MethodDescriptor& method, const google::protobuf::Message& request,
           const google::protobuf::Message& response,
           std::variant<RpcMethod::Function, RpcMethod::Coroutine, google::protobuf::Service*> handler);
  // Forbids adding further methods. After that, the loops read the list of methods without a lock.
  void seal() { sealed_ = true; }
  // Returns the method `name` of the service with the full name `service`, or null if the server lacks it.
  const RpcMethod* find(std::string_view service, std::string_view name) const;
  bool has_service(std::string_view service) const { return services_.contains(service); }
  const std::deque<RpcMethod>& methods() const { return methods_; }

  const RpcServerOptions& options() const { return options_; }
  const TaggedCodec& codec() const { return codec_; }
  // Returns the most calls that may be in progress on one loop. This is an equal share of RpcServerOptions::most_calls.
  size_t most_calls_per_loop() const { return most_calls_per_loop_; }

  // The callback for frames that cannot be read. It logs a warning and refuses the connection.
  BadMessageCallback on_bad = refuse_bad_messages();

 private:
  template <class T>
  using ByName = std::map<std::string, T, std::less<>>;

  const RpcServerOptions options_;
  const TaggedCodec codec_;
  std::deque<RpcMethod> methods_;
  ByName<ByName<const RpcMethod*>> services_;
  bool sealed_ = false;  // true after seal()
  size_t most_calls_per_loop_ = 0;
  std::vector<std::unique_ptr<RpcShard>> shards_;
};

}  // namespace peal::detail
