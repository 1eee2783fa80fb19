// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/parts/rpc_shard.h>

#include <cerrno>
#include <utility>

#include <peal/base/exception.h>
#include <peal/base/log.h>

namespace peal::detail {
namespace {

// The most unused call objects that are kept for each method.
constexpr size_t kMostFree = 1024;

}  // namespace

// Deletes the calls whose handler has ended after the end of the loop, see RpcServerCall::Run().
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
  *view_target_ = nullptr;
  std::vector<std::pair<const RpcMethod*, google::protobuf::Closure*>> callbacks;
  {
    const ReadyQueue::Hold hold;
    const Why why = mailbox_->open() ? ECANCELED : why_of(Trouble::kLoopStopped);
    for (RpcServerCall* call = waiting_.front(); call != nullptr; call = call->next_waiting()) {
      if (google::protobuf::Closure* callback = call->cancel(why))
        callbacks.emplace_back(&call->its_method(), callback);
    }
  }
  for (const auto& [method, callback] : callbacks) run_cancel_callback(*method, *callback);
  ReadyQueue::run_all();
}

std::optional<uint64_t> RpcShard::admit_log_line() {
  Loop* const loop = mailbox_->reachable();
  return failures_log_.admit(loop != nullptr ? loop->now() : monotonic_now());
}

void RpcShard::note_handler_exception(const RpcMethod& method) {
  ++stats_of(method).threw;
  const auto held_back = admit_log_line();
  if (held_back)
    PEAL_LOG_ERROR("the handler of {} threw: {} ({} more like it)", method.descriptor.full_name(), what_was_thrown(),
                   *held_back);
}

void RpcShard::run_cancel_callback(const RpcMethod& method, google::protobuf::Closure& callback) {
  const std::shared_ptr<RpcCore> core = core_.shared_from_this();  // the closure may destroy the server
  try {
    callback.Run();
  } catch (...) {
    note_handler_exception(method);
  }
}

RpcServerStats RpcShard::snapshot() {
  RpcServerStats all = stats_;
  for (const RpcMethod& method : core_.methods()) all.methods.push_back(stats_of(method));
  return all;
}

// The returned function owns no part of the server. The handlers can thus be destroyed while the application still has
// the function.
std::function<std::vector<MethodStats>()> RpcShard::method_view() {
  return [target = view_target_] {
    return *target == nullptr ? std::vector<MethodStats>() : (*target)->snapshot().methods;
  };
}

}  // namespace peal::detail
