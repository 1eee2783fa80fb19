// SPDX-License-Identifier: BSD-3-Clause
// RpcShard: what an RpcServer has on one loop: the calls to be used again, those that wait for something, the counters.
// It belongs to that loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <peal/base/log_limiter.h>
#include <peal/coro/await.h>
#include <peal/loop/loop.h>
#include <peal/protobuf/rpc/parts/rpc_core.h>
#include <peal/protobuf/rpc/parts/rpc_server_call.h>

namespace peal::detail {

class RpcShard {
 public:
  RpcShard(RpcCore& core, Loop& loop)
      : core_(core), loop_(&loop), mailbox_(loop.mailbox()), view_target_(std::make_shared<RpcShard*>(this)) {}
  ~RpcShard();
  RpcShard(const RpcShard&) = delete;
  RpcShard& operator=(const RpcShard&) = delete;

  RpcCore& core() const { return core_; }
  Loop& loop() const { return *loop_; }
  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  const RpcServerOptions& options() const { return core_.options(); }

  // Null: there is none of that name.
  const RpcMethod* find(std::string_view service, std::string_view name) {
    if (last_found_ == nullptr || !last_found_->is(service, name)) last_found_ = core_.find(service, name);
    return last_found_;
  }
  bool is_full() const { return under_way_ >= core_.most_calls_per_loop(); }
  // A call of the method that is under way from now on; it comes back by release().
  RpcServerCall& acquire(const RpcMethod& method);
  void release(RpcServerCall& call);
  // Calls that may outlive the session, to be cancelled when the server goes.
  WaitList<RpcServerCall>& waiting() { return waiting_; }
  // The server is gone: what can end without waiting has ended when it returns.
  void retire();

  MethodStats& stats_of(const RpcMethod& method) { return state_of(method).stats; }
  // The counters that belong to no method.
  RpcServerStats& stats() { return stats_; }
  RpcServerStats snapshot();
  // Counts and logs the exception under way.
  void note_handler_exception(const RpcMethod& method);
  // Calls the closure that a service has given to NotifyOnCancel(). Its exceptions are counted and logged.
  void run_cancel_callback(const RpcMethod& method, google::protobuf::Closure& callback);
  // Answers the counters of the methods when it is called on this loop; nothing once the server is gone.
  std::function<std::vector<MethodStats>()> method_view();
  // For lines about handlers that fail: as LogLimiter::admit(). The loop may be gone.
  std::optional<uint64_t> admit_log_line();

 private:
  struct MethodState {
    MethodStats stats;
    std::vector<std::unique_ptr<RpcServerCall>> free;
  };
  MethodState& state_of(const RpcMethod& method) {
    if (method.index >= methods_.size() || methods_[method.index] == nullptr) [[unlikely]]
      make_state(method);
    return *methods_[method.index];
  }
  void make_state(const RpcMethod& method);

  RpcCore& core_;
  Loop* const loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::vector<std::unique_ptr<MethodState>> methods_;  // by index; null until it is called
  const RpcMethod* last_found_ = nullptr;
  size_t under_way_ = 0;
  WaitList<RpcServerCall> waiting_;
  RpcServerStats stats_;
  const std::shared_ptr<RpcShard*> view_target_;  // by the views; null once the server is gone
  LogLimiter failures_log_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
