// SPDX-License-Identifier: BSD-3-Clause
// RpcShard is the part of an RpcServer that belongs to one loop: the counters, the call objects for reuse, and the list
// of calls whose handler has not ended. Its functions are called on that loop's thread, except after the loop has
// ended.
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

  // Returns the method `name` of the service with the full name `service`, or null if the server lacks it. Remembers
  // the method that was found last.
  const RpcMethod* find(std::string_view service, std::string_view name) {
    if (last_found_ == nullptr || !last_found_->is(service, name)) last_found_ = core_.find(service, name);
    return last_found_;
  }
  // Returns true if this loop has the most calls in progress that it may have, so that no further call may begin.
  bool is_full() const { return under_way_ >= core_.most_calls_per_loop(); }
  // Returns a call object for the method and counts it as a call in progress. The caller must give each object back by
  // release().
  RpcServerCall& acquire(const RpcMethod& method);
  void release(RpcServerCall& call);

  // Returns the list of calls whose coroutine or service has not ended. The calls may outlive their session. retire()
  // cancels them.
  WaitList<RpcServerCall>& waiting() { return waiting_; }
  // Cancels all calls and runs the cancelled coroutines. When this function returns, every call has ended that could
  // end without waiting for something else. Called when the server is destroyed.
  void retire();

  // Returns the counters of a method on this loop.
  MethodStats& stats_of(const RpcMethod& method) { return state_of(method).stats; }
  // Returns the counters of this loop that belong to no single method. The member `methods` of the result is empty.
  RpcServerStats& stats() { return stats_; }
  // Returns a copy of all counters of this loop.
  RpcServerStats snapshot();
  // Counts and logs the exception that is being handled. Must be called inside a catch block.
  void note_handler_exception(const RpcMethod& method);
  // Runs the closure that a service gave to NotifyOnCancel(). An exception of the closure is counted and logged.
  void run_cancel_callback(const RpcMethod& method, google::protobuf::Closure& callback);
  // Returns a function for RpcServer::method_views(). That function returns the counters of the methods on this loop,
  // and must be called on this loop. After the server was destroyed, it returns an empty vector.
  std::function<std::vector<MethodStats>()> method_view();
  // Says whether a line about a failed handler may be logged now. Returns the result of LogLimiter::admit(). May be
  // called after the loop was destroyed.
  std::optional<uint64_t> admit_log_line();

 private:
  // The counters of a method, and its call objects that are not in use.
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
  std::vector<std::unique_ptr<MethodState>> methods_;  // by RpcMethod::index; null until the method is first used
  const RpcMethod* last_found_ = nullptr;
  size_t under_way_ = 0;  // calls in progress on this loop
  WaitList<RpcServerCall> waiting_;
  RpcServerStats stats_;
  const std::shared_ptr<RpcShard*> view_target_;  // shared with the views; holds null after the server was destroyed
  LogLimiter failures_log_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
