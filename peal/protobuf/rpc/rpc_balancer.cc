// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/rpc_balancer.h>

#include <memory>

#include <peal/protobuf/rpc/parts/rpc_balancer_calls.h>

namespace peal {

RpcBalancer::RpcBalancer(Loop& loop, const RpcBalancerOptions& options)
    : RpcCaller(std::make_shared<detail::RpcBalancerCalls>(loop, options)) {}

RpcBalancer::~RpcBalancer() { calls().retire(); }

Result<void> RpcBalancer::add(std::string_view address) { return calls().add(address); }

bool RpcBalancer::remove(std::string_view address) { return calls().remove(address); }

bool RpcBalancer::is_connected() const { return calls().is_connected(); }

RpcBalancerStats RpcBalancer::stats() const { return calls().stats(); }

detail::RpcBalancerCalls& RpcBalancer::calls() const {
  return static_cast<detail::RpcBalancerCalls&>(RpcCaller::calls());
}

}  // namespace peal
