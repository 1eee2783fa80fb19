// SPDX-License-Identifier: BSD-3-Clause
// RpcCalls is the implementation of an RpcCaller: it makes calls and ends them. RpcLink (for an RpcChannel) and
// RpcBalancerCalls (for an RpcBalancer) derive from it. This base class handles the calls that are not awaited: it owns
// them, ends them at their deadline, and reports a refusal later by the loop.
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
  // The timeout of calls that have no deadline. Such calls need a timer too: if the loop ends, it destroys the timer's
  // closure, whose destructor ends the call.
  static constexpr Duration kNoDeadline = std::chrono::hours(24 * 365);

  RpcCalls(const RpcCalls&) = delete;
  RpcCalls& operator=(const RpcCalls&) = delete;
  virtual ~RpcCalls() = default;

  // Returns how long a call with this deadline may take. If `deadline` is kUsualDeadline, the deadline of the options
  // is used.
  Duration timeout_of(Duration deadline) const;

  // Sends a call, or keeps it until there is a connection, and returns the call's id. `pending` is borrowed until the
  // call ends. Fails, and makes no call, with kNotConnected, kTooManyCalls, Trouble::kLoopStopped, or after retire()
  // with ECANCELED. Throws std::invalid_argument if the request lacks a required field or is too long.
  virtual Result<uint64_t> start(RpcPending& pending, const google::protobuf::MethodDescriptor& method,
                                 const google::protobuf::Message& request, Duration timeout) = 0;

  // Starts a call, takes the ownership of `pending`, and ends the call at its deadline. If start() fails, returns 0,
  // and the loop calls pending->failed() later. If the loop has begun to end, calls pending->dropped() before
  // returning.
  uint64_t start_owned(std::unique_ptr<RpcOwnedPending> pending, const google::protobuf::MethodDescriptor& method,
                       const google::protobuf::Message& request, Duration timeout);

  // Returns true if the calling thread may use the loop: it is the loop's thread, or no thread runs the loop.
  bool may_be_touched_here() const { return mailbox_->reachable() != nullptr || !mailbox_->open(); }

  // Ends a call without calling a function of its RpcPending. If the call was sent, sends a cancellation to the server.
  // Returns false if the call had ended before.
  virtual bool withdraw(uint64_t id, Why why) = 0;

 protected:
  // The members of a call that are used only if start_owned() has started the call.
  struct Owned {
    std::unique_ptr<RpcOwnedPending> owned;
    TimerId deadline;
  };

  // `usual_deadline` is the deadline of calls that do not have one of their own. If it is 0, such calls have no
  // deadline.
  RpcCalls(Loop& loop, Duration usual_deadline);

  // Returns the Owned part of the call with this id, which must be in progress.
  virtual Owned& owned_of(uint64_t id) = 0;
  // Ends a call and calls failed(error) of its RpcPending. Does nothing if the call has ended already. If the error is
  // ETIMEDOUT, the call must have been started by start_owned().
  virtual void fail_call(uint64_t id, std::error_code error) = 0;
  // Calls `callback`, which runs the application's code. If `callback` throws, logs the exception instead of passing it
  // on, so that the callbacks of other calls are still called.
  template <class Function>
  void call_and_log_exceptions(const Function& callback);

  Loop* const loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  bool retired_ = false;  // true after the RpcCaller was destroyed: no callback is called any more

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
