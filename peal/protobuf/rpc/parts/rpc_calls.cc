// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/parts/rpc_calls.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <peal/protobuf/rpc/rpc_caller.h>

namespace peal::detail {

// The closure of a call's timer. If the timer fires, the closure ends the call with ETIMEDOUT. If the loop ends, it
// destroys the closure without calling it, and the destructor ends the call with kLoopStopped. If the call has ended
// before, neither the closure nor its destructor has an effect.
struct RpcCalls::Deadline {
  Deadline(std::weak_ptr<RpcCalls> its_calls, uint64_t its_id) : calls(std::move(its_calls)), id(its_id) {}
  Deadline(Deadline&&) noexcept = default;
  Deadline& operator=(Deadline&&) = delete;
  ~Deadline() { end(make_error_code(Trouble::kLoopStopped)); }
  void operator()() { end(errno_code(ETIMEDOUT)); }
  void end(std::error_code error) {
    const std::weak_ptr<RpcCalls> its_calls = std::move(calls);
    if (const auto alive = its_calls.lock()) alive->fail_call(id, error);
  }

  std::weak_ptr<RpcCalls> calls;
  uint64_t id;
};

// The task in which the loop calls failed() for a call that was refused. The destructor calls dropped() instead if the
// RpcCaller was destroyed meanwhile, or if the loop accepts no task any more.
struct RpcCalls::Refusal {
  Refusal(std::shared_ptr<RpcCalls> its_calls, std::unique_ptr<RpcOwnedPending> its_call, std::error_code its_error)
      : calls(std::move(its_calls)), call(std::move(its_call)), error(its_error) {}
  Refusal(Refusal&&) noexcept = default;
  Refusal& operator=(Refusal&&) = delete;
  ~Refusal() {
    if (call != nullptr) calls->call_and_log_exceptions([this] { call->dropped(); });
  }
  void operator()() {
    if (calls->retired_) return;
    const std::unique_ptr<RpcOwnedPending> pending = std::move(call);
    calls->call_and_log_exceptions([&] { pending->failed(error); });
  }

  std::shared_ptr<RpcCalls> calls;
  std::unique_ptr<RpcOwnedPending> call;
  std::error_code error;
};

RpcCalls::RpcCalls(Loop& loop, Duration usual_deadline)
    : loop_(&loop),
      mailbox_(loop.mailbox()),
      usual_deadline_(usual_deadline > Duration::zero() ? usual_deadline : kNoDeadline) {}

Duration RpcCalls::timeout_of(Duration deadline) const {
  return deadline != RpcCaller::kUsualDeadline ? std::min(deadline, kNoDeadline) : usual_deadline_;
}

uint64_t RpcCalls::start_owned(std::unique_ptr<RpcOwnedPending> pending,
                               const google::protobuf::MethodDescriptor& method,
                               const google::protobuf::Message& request, Duration timeout) {
  const Result<uint64_t> id = start(*pending, method, request, timeout);
  if (!id) {
    mailbox_->insist(Refusal(shared_from_this(), std::move(pending), id.error()));
    return 0;
  }
  Owned& call = owned_of(*id);
  call.owned = std::move(pending);
  call.deadline = loop_->after(timeout, Deadline(weak_from_this(), *id));
  return *id;
}

}  // namespace peal::detail
