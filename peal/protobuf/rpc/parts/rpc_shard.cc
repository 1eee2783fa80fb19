// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/parts/rpc_shard.h>

#include <cerrno>
#include <utility>

#include <peal/base/exception.h>
#include <peal/base/log.h>

namespace peal::detail {
namespace {

// Free calls kept of each method: as many may be under way at once without an allocation.
constexpr size_t kMostFree = 1024;

}  // namespace

// The loop had ended before these were done: RpcServerCall::Run().
RpcShard::~RpcShard() {
  while (RpcServerCall* const call = waiting_.pop_front()) delete call;
}

void RpcShard::make_state(const RpcMethod& method) {
  if (method.index >= methods_.size()) methods_.resize(method.index + 1);
  methods_[method.index] = std::make_unique<MethodState>();
  methods_[method.index]->stats.name = method.descriptor.full_name();
}

RpcServerCall& RpcShard::acquire(const RpcMethod& method) {
  MethodState& state = state_of(method);
  if (state.free.empty()) state.free.push_back(std::make_unique<RpcServerCall>(*this, method, state.stats));
  RpcServerCall* const call = state.free.back().release();
  state.free.pop_back();
  ++state.stats.under_way;
  ++under_way_;
  return *call;
}

void RpcShard::release(RpcServerCall& call) {
  MethodState& state = state_of(call.its_method());
  --state.stats.under_way;
  --under_way_;
  std::unique_ptr<RpcServerCall> owned(&call);
  if (state.free.size() < kMostFree && call.reset()) state.free.push_back(std::move(owned));
}

void RpcShard::retire() {
  *seen_ = nullptr;
  std::vector<std::pair<const RpcMethod*, google::protobuf::Closure*>> told;
  {
    const ReadyQueue::Hold hold;
    const Why why = mailbox_->open() ? ECANCELED : why_of(Trouble::kLoopStopped);
    for (RpcServerCall* call = waiting_.front(); call != nullptr; call = call->next_waiting()) {
      if (google::protobuf::Closure* closure = call->cancel(why)) told.emplace_back(&call->its_method(), closure);
    }
  }
  for (const auto& [method, closure] : told) tell_of_end(*method, *closure);
  ReadyQueue::run_all();
}

std::optional<uint64_t> RpcShard::admit_failure() {
  Loop* const loop = mailbox_->reachable();
  return failures_log_.admit(loop != nullptr ? loop->now() : monotonic_now());
}

void RpcShard::handler_threw(const RpcMethod& method) {
  ++stats_of(method).threw;
  const auto held_back = admit_failure();
  if (held_back)
    PEAL_LOG_ERROR("the handler of {} threw: {} ({} more like it)", method.descriptor.full_name(), what_was_thrown(),
                   *held_back);
}

void RpcShard::tell_of_end(const RpcMethod& method, google::protobuf::Closure& told) {
  const std::shared_ptr<RpcCore> core = core_.shared_from_this();  // it may destroy the server
  try {
    told.Run();
  } catch (...) {
    handler_threw(method);
  }
}

RpcServerStats RpcShard::snapshot() {
  RpcServerStats all = stats_;
  for (const RpcMethod& method : core_.methods()) all.methods.push_back(stats_of(method));
  return all;
}

// It holds no part of the server: the handlers are not kept by whoever looks.
std::function<std::vector<MethodStats>()> RpcShard::method_view() {
  return [seen = seen_] { return *seen == nullptr ? std::vector<MethodStats>() : (*seen)->snapshot().methods; };
}

}  // namespace peal::detail
