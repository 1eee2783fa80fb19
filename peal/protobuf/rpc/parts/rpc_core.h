// SPDX-License-Identifier: BSD-3-Clause
// RpcCore: what the loops of one RpcServer share: the methods and the options. RpcMethod: one of the methods. Counted:
// the server, the callbacks of its connections and the calls that wait for something hold it.
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

struct RpcMethod {
  using Function = SharedCallback<void(RpcCall&, const google::protobuf::Message&, google::protobuf::Message&)>;
  using Coroutine = SharedCallback<Task<>(RpcCall&, const google::protobuf::Message&, google::protobuf::Message&)>;

  const google::protobuf::MethodDescriptor& descriptor;
  const google::protobuf::Message& request;  // prototypes
  const google::protobuf::Message& response;
  const std::variant<Function, Coroutine, google::protobuf::Service*> handler;
  const size_t index;

  // Whether a client means this method by the two names.
  bool is(std::string_view service, std::string_view name) const {
    return descriptor.name() == name && descriptor.service()->full_name() == service;
  }
};

class RpcCore : public std::enable_shared_from_this<RpcCore> {
 public:
  explicit RpcCore(const RpcServerOptions& options);
  ~RpcCore();

  void add(Loop& loop);
  const std::vector<std::unique_ptr<RpcShard>>& shards() const { return shards_; }
  RpcShard& shard_of(const Loop& loop) const;
  // For each connection; its context is an RpcSession.
  SharedConnectionCallbacks callbacks();

  // std::invalid_argument if it is there already.
  void add(const google::protobuf::MethodDescriptor& method, const google::protobuf::Message& request,
           const google::protobuf::Message& response,
           std::variant<RpcMethod::Function, RpcMethod::Coroutine, google::protobuf::Service*> handler);
  // From now on no method is added.
  void seal() { sealed_ = true; }
  const RpcMethod* find(std::string_view service, std::string_view name) const;
  bool has_service(std::string_view service) const { return services_.contains(service); }
  const std::deque<RpcMethod>& methods() const { return methods_; }

  const RpcServerOptions& options() const { return options_; }
  const TaggedCodec& codec() const { return codec_; }
  // The most calls under way on one loop.
  size_t most_calls_per_loop() const { return most_calls_per_loop_; }
  // Called for a frame that cannot be read.
  BadMessageCallback on_bad = refuse_bad_messages();

 private:
  template <class T>
  using ByName = std::map<std::string, T, std::less<>>;

  const RpcServerOptions options_;
  const TaggedCodec codec_;
  std::deque<RpcMethod> methods_;
  ByName<ByName<const RpcMethod*>> services_;
  bool sealed_ = false;
  size_t most_calls_per_loop_ = 0;
  std::vector<std::unique_ptr<RpcShard>> shards_;
};

}  // namespace peal::detail
