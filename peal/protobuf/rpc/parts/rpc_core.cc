// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/parts/rpc_core.h>

#include <algorithm>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/net/connection.h>
#include <peal/protobuf/rpc/parts/rpc_session.h>
#include <peal/protobuf/rpc/parts/rpc_shard.h>

namespace peal::detail {

RpcCore::RpcCore(const RpcServerOptions& options)
    : options_(options), codec_{.tag = kRpcTag, .limit_bytes = options.limit_bytes} {
  if (options.most_calls == 0 || options.most_calls_per_connection == 0 ||
      options.most_request_bytes_per_connection == 0)
    throw_bad_value(
        "RpcServerOptions::most_calls is {}, most_calls_per_connection {}, "
        "most_request_bytes_per_connection {}; each must be above 0",
        options.most_calls, options.most_calls_per_connection, options.most_request_bytes_per_connection);
}

RpcCore::~RpcCore() = default;

void RpcCore::add(Loop& loop) {
  shards_.push_back(std::make_unique<RpcShard>(*this, loop));
  most_calls_per_loop_ = std::max<size_t>(options_.most_calls / shards_.size(), 1);
}

RpcShard& RpcCore::shard_of(const Loop& loop) const {
  const auto found = std::ranges::find_if(shards_, [&loop](const auto& shard) { return &shard->loop() == &loop; });
  PEAL_ASSERT(found != shards_.end(), "a connection runs on none of the RpcServer's {} loops", shards_.size());
  return **found;
}

SharedConnectionCallbacks RpcCore::callbacks() {
  SharedConnectionCallbacks callbacks;
  callbacks.on_open = [core = shared_from_this()](Connection& connection) {
    connection.emplace_context<RpcSession>(core->shard_of(connection.loop()), connection);
    connection.keep_context();
  };
  callbacks.on_message = [](Connection& connection, Buffer& input) {
    connection.context<RpcSession>().received(input);
  };
  callbacks.on_drain = [](Connection& connection) { connection.context<RpcSession>().drain(); };
  return callbacks;
}

void RpcCore::add(const google::protobuf::MethodDescriptor& method, const google::protobuf::Message& request,
                  const google::protobuf::Message& response,
                  std::variant<RpcMethod::Function, RpcMethod::Coroutine, google::protobuf::Service*> handler) {
  PEAL_ASSERT(!sealed_, "{} is added too late: add methods before listen() and method_views()", method.full_name());
  const RpcMethod*& place = services_[method.service()->full_name()][method.name()];
  if (place != nullptr) throw_bad_value("the method {} was added to this RpcServer before", method.full_name());
  place = &methods_.emplace_back(method, request, response, std::move(handler), methods_.size());
}

const RpcMethod* RpcCore::find(std::string_view service, std::string_view name) const {
  const auto methods = services_.find(service);
  if (methods == services_.end()) return nullptr;
  const auto found = methods->second.find(name);
  return found == methods->second.end() ? nullptr : found->second;
}

}  // namespace peal::detail
