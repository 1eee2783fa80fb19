// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/rpc_server.h>

#include <algorithm>
#include <utility>

#include <peal/base/bad_value.h>
#include <peal/loop/on_loop.h>
#include <peal/protobuf/rpc/parts/reflection_service.h>
#include <peal/protobuf/rpc/parts/rpc_core.h>
#include <peal/protobuf/rpc/parts/rpc_shard.h>

namespace peal {

Duration RpcCall::time_left() const {
  if (due_ == kNever) return Duration::max();
  return std::max(due_ - loop_.now(), Duration::zero());
}

Result<SocketAddress> RpcCall::peer_address() const {
  return static_cast<const detail::RpcServerCall&>(*this).client_address();
}

void RpcServerStats::add(const RpcServerStats& other) {
  add_methods(methods, other.methods);
  unknown += other.unknown;
  overloaded += other.overloaded;
  unexpected += other.unexpected;
}

RpcServer::RpcServer(Loop& loop, const RpcServerOptions& options) : core_(std::make_shared<detail::RpcCore>(options)) {
  core_->add(loop);
  server_ = std::make_unique<Server>(loop, core_->callbacks(), options.server);
}

RpcServer::RpcServer(LoopGroup& group, const RpcServerOptions& options)
    : core_(std::make_shared<detail::RpcCore>(options)) {
  for (size_t i = 0; i < group.size(); ++i) core_->add(group[i]);
  server_ = std::make_unique<Server>(group, core_->callbacks(), options.server);
}

// `core` keeps the shards alive until the loop over them has ended. Otherwise the last call that retire() ends could
// destroy them.
RpcServer::~RpcServer() {
  const std::shared_ptr<detail::RpcCore> core = std::move(core_);
  server_.reset();
  for (const auto& shard : core->shards()) {
    detail::on_loop_or_after(*shard->mailbox(), [&shard] { shard->retire(); });
  }
}

void RpcServer::add(const google::protobuf::MethodDescriptor& method, const Prototypes& prototypes, Function handler) {
  core_->add(method, prototypes.request, prototypes.response, std::move(handler));
}

void RpcServer::add(const google::protobuf::MethodDescriptor& method, const Prototypes& prototypes, Coroutine handler) {
  core_->add(method, prototypes.request, prototypes.response, std::move(handler));
}

void RpcServer::add(google::protobuf::Service& service) {
  const google::protobuf::ServiceDescriptor& its = *service.GetDescriptor();
  for (int i = 0; i < its.method_count(); ++i) {
    const google::protobuf::MethodDescriptor& method = *its.method(i);
    if (core_->find(its.full_name(), method.name()) != nullptr)
      throw_bad_value("the method {} was added to this RpcServer before", method.full_name());
  }
  for (int i = 0; i < its.method_count(); ++i) {
    const google::protobuf::MethodDescriptor* const method = its.method(i);
    core_->add(*method, service.GetRequestPrototype(method), service.GetResponsePrototype(method), &service);
  }
}

void RpcServer::add_reflection() { detail::ReflectionService::add_to(*core_); }

Result<SocketAddress> RpcServer::listen(std::string_view address) {
  core_->seal();
  return server_->listen(address);
}

Result<SocketAddress> RpcServer::listen(const SocketAddress& address) {
  core_->seal();
  return server_->listen(address);
}

Result<SocketAddress> RpcServer::listen(Fd listening, bool shared) {
  core_->seal();
  return server_->listen(std::move(listening), shared);
}

RpcServerStats RpcServer::stats() const {
  RpcServerStats all;
  for (const auto& shard : core_->shards()) {
    RpcServerStats its;
    detail::on_loop_or_after(*shard->mailbox(), [&] { its = shard->snapshot(); });
    all.add(its);
  }
  return all;
}

// seal() forbids adding methods, because from now on the loops read the list of methods without a lock.
std::vector<std::function<std::vector<MethodStats>()>> RpcServer::method_views() const {
  core_->seal();
  std::vector<std::function<std::vector<MethodStats>()>> views;
  for (const auto& shard : core_->shards()) views.push_back(shard->method_view());
  return views;
}

}  // namespace peal
