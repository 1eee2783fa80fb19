// SPDX-License-Identifier: BSD-3-Clause
// RpcCalls: what makes calls and ends them, as its RpcCaller has it: the link of a channel, or a balancer. Here is what
// both have in common: calls that are owned have their deadline watched, and are told by the loop that they were
// refused.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <system_error>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <peal/base/clock.h>
#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/base/log_limiter.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/protobuf/rpc/rpc_pending.h>

namespace peal::detail {

class RpcCalls : public std::enable_shared_from_this<RpcCalls> {
 public:
  // Calls without a deadline get this one, since the closure of its timer dies with the loop and thereby ends the call.
  static constexpr Duration kNoDeadline = std::chrono::hours(24 * 365);

  RpcCalls(const RpcCalls&) = delete;
  RpcCalls& operator=(const RpcCalls&) = delete;
  virtual ~RpcCalls() = default;

  // How long a call may take; kUsualDeadline: as the options say.
  Duration timeout_of(Duration deadline) const;
  // Sends a call, or keeps it until there is a connection. Answers its id. `pending` is borrowed until the call ends.
  // kNotConnected, kTooManyCalls, Trouble::kLoopStopped, or ECANCELED once retired: there is no such call.
  // std::invalid_argument: the request cannot be sent.
  virtual Result<uint64_t> start(RpcPending& pending, const google::protobuf::MethodDescriptor& method,
                                 const google::protobuf::Message& request, Duration timeout) = 0;
  // Starts a call that is owned here, and whose deadline is watched. An error is told by the loop, not in this call.
  // Once the loop has begun to end, the call is dropped in this call instead.
  uint64_t start_owned(std::unique_ptr<RpcOwnedPending> pending, const google::protobuf::MethodDescriptor& method,
                       const google::protobuf::Message& request, Duration timeout);
  // Whether the calling thread is the loop's, or may touch it since nobody runs it.
  bool may_be_touched_here() const { return mailbox_->reachable() != nullptr || !mailbox_->open(); }
  // The caller ends it: only the server is told. False: it had ended.
  virtual bool withdraw(uint64_t id, Why why) = 0;

 protected:
  struct Owned {
    std::unique_ptr<RpcOwnedPending> owned;
    TimerId deadline;
  };

  // `usual_deadline` is that of calls that name none. 0: none.
  RpcCalls(Loop& loop, Duration usual_deadline);

  // For the id of a call that is under way.
  virtual Owned& owned_of(uint64_t id) = 0;
  virtual void fail_call(uint64_t id, std::error_code error) = 0;
  // Calls what a user has given; an exception is logged, so that the other calls are told too.
  template <class Function>
  void call_and_log_exceptions(const Function& callback);

  Loop* const loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  bool retired_ = false;  // the caller is destroyed: nobody is called any more

 private:
  struct Deadline;
  struct Refusal;

  const Duration usual_deadline_;
  LogLimiter throws_log_{std::chrono::seconds(1)};
};

template <class Function>
void RpcCalls::call_and_log_exceptions(const Function& callback) {
  try {
    callback();
  } catch (...) {
    Loop* const loop = mailbox_->reachable();
    const auto held_back = throws_log_.admit(loop != nullptr ? loop->now() : monotonic_now());
    if (held_back)
      PEAL_LOG_ERROR("the callback of an RPC call threw: {} ({} more like it)", what_was_thrown(), *held_back);
  }
}

}  // namespace peal::detail
