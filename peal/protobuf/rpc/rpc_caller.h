// SPDX-License-Identifier: BSD-3-Clause
// RpcCaller: how calls are made, over one server (RpcChannel) or several (RpcBalancer): awaited, called back, or by the
// stubs that protobuf generates. The classes that derive from it say where calls go, and how they end.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/service.h>

#include <peal/base/assert.h>
#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/coro/await.h>
#include <peal/protobuf/rpc/rpc_method.h>
#include <peal/protobuf/rpc/rpc_pending.h>
#include <peal/protobuf/rpc/rpc_trouble.h>

namespace peal {

// Names a call of one RpcCaller. Late use does nothing.
struct RpcCallId {
  uint64_t number = 0;

  bool operator==(const RpcCallId&) const = default;
};

// A call that is awaited: answers Result<Response>. The request is borrowed until it has begun to wait.
template <class Response>
class [[nodiscard]] RpcCallAwait final : public detail::Awaitable<RpcCallAwait<Response>, detail::RpcCallWait> {
 public:
  RpcCallAwait(std::shared_ptr<detail::RpcCalls> calls, const google::protobuf::MethodDescriptor& method,
               const google::protobuf::Message& request)
      : detail::Awaitable<RpcCallAwait<Response>, detail::RpcCallWait>(std::move(calls), method, request, response_) {}
  Result<Response> await_resume() {
    if (const std::error_code error = this->error()) return std::unexpected(error);
    return std::move(response_);
  }

 private:
  Response response_;
};

class RpcCaller : public google::protobuf::RpcChannel {
 public:
  template <class Response>
  using Answered = Callback<void(Result<Response> answer)>;
  // RpcChannelOptions::deadline.
  static constexpr Duration kUsualDeadline = Duration::min();

  ~RpcCaller() override;

  // Throws std::invalid_argument if the request lacks a required field or is too long, where it is awaited.
  template <RpcMethodPointer Method>
  RpcCallAwait<typename RpcMethodOf<Method>::Response> call(Method method,
                                                            const RpcMethodOf<Method>::Request& request) {
    return {calls_, rpc_method(method), request};
  }
  // `on_answer` is not null (asserted), and is called once, on the loop: not in this call. `deadline` counts from now:
  // zero ends the call at the next tick, and Duration::max() is none. A call that is refused has the id {}. Throws as
  // above, and makes no call then.
  template <RpcMethodPointer Method>
  RpcCallId call(Method method, const RpcMethodOf<Method>::Request& request,
                 Answered<typename RpcMethodOf<Method>::Response> on_answer, Duration deadline = kUsualDeadline) {
    using Called = detail::RpcCalledBack<typename RpcMethodOf<Method>::Response>;
    const google::protobuf::MethodDescriptor& descriptor = rpc_method(method);
    PEAL_ASSERT(on_answer, "{} is called without on_answer", descriptor.full_name());
    return {start(descriptor, request, std::make_unique<Called>(std::move(on_answer)), deadline)};
  }
  // True if it was under way: it is not called back any more.
  bool cancel(RpcCallId call);
  // For protobuf's stubs. A failure is told by controller->SetFailed(), if there is one. The caller owns the messages,
  // and the response lives until `done` is called. Both messages and `done` are not null (asserted). Throws as above,
  // and does not call `done` then.
  void CallMethod(const google::protobuf::MethodDescriptor* method, google::protobuf::RpcController* controller,
                  const google::protobuf::Message* request, google::protobuf::Message* response,
                  google::protobuf::Closure* done) override;

 protected:
  explicit RpcCaller(std::shared_ptr<detail::RpcCalls> calls);
  detail::RpcCalls& calls() const { return *calls_; }

 private:
  uint64_t start(const google::protobuf::MethodDescriptor& method, const google::protobuf::Message& request,
                 std::unique_ptr<detail::RpcOwnedPending> pending, Duration deadline);

  const std::shared_ptr<detail::RpcCalls> calls_;
};

}  // namespace peal
