// SPDX-License-Identifier: BSD-3-Clause
// RpcCaller is the common base of RpcChannel (calls to one server) and RpcBalancer (calls to several servers). It
// offers three ways to make a call: a coroutine awaits it, a callback gets the answer, or a stub that protobuf
// generates makes it. The derived classes decide where a call goes and how it ends.
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

// RpcCallId names one call of an RpcCaller, for RpcCaller::cancel(). After the call has ended, its id has no effect.
struct RpcCallId {
  uint64_t number = 0;

  bool operator==(const RpcCallId&) const = default;
};

// The awaitable of a call. co_await makes the call and returns Result<Response>. The request is serialised or copied
// before the coroutine is suspended, and is not used after that.
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
  // The value of `deadline` that means RpcChannelOptions::deadline.
  static constexpr Duration kUsualDeadline = Duration::min();

  ~RpcCaller() override;

  // Returns the awaitable of a call, for coroutines. The call is made by co_await, not before. co_await throws
  // std::invalid_argument if the request lacks a required field or is too long.
  template <RpcMethodPointer Method>
  RpcCallAwait<typename RpcMethodOf<Method>::Response> call(Method method,
                                                            const RpcMethodOf<Method>::Request& request) {
    return {calls_, rpc_method(method), request};
  }

  // Makes a call and returns its id. `on_answer` gets the response or the error. It is called once, on the loop, after
  // this function has returned, and must not be null (asserted). If the RpcCaller is destroyed first, `on_answer` is
  // destroyed without being called.
  //
  // `deadline` counts from now. Zero ends the call at the next tick of the loop; Duration::max() means no deadline. If
  // the call is refused, for example with kTooManyCalls, the returned id is {}, and `on_answer` gets the error. Throws
  // std::invalid_argument, and makes no call, if the request lacks a required field or is too long.
  template <RpcMethodPointer Method>
  RpcCallId call(Method method, const RpcMethodOf<Method>::Request& request,
                 Answered<typename RpcMethodOf<Method>::Response> on_answer, Duration deadline = kUsualDeadline) {
    using Called = detail::RpcCalledBack<typename RpcMethodOf<Method>::Response>;
    const google::protobuf::MethodDescriptor& descriptor = rpc_method(method);
    PEAL_ASSERT(on_answer, "{} is called without on_answer", descriptor.full_name());
    return {start(descriptor, request, std::make_unique<Called>(std::move(on_answer)), deadline)};
  }
  // Cancels a call and sends the cancellation to the server. Returns true if the call was in progress; its `on_answer`
  // is not called any more. Returns false if the call had ended before.
  bool cancel(RpcCallId call);
  // Makes a call for protobuf's stubs and calls `done` when the call has ended. If the call has failed,
  // controller->SetFailed() is called before, unless `controller` is null. The caller owns the messages; the response
  // must live until `done` is called. The messages and `done` must not be null (asserted). Throws as call() does; in
  // that case `done` is not called.
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
