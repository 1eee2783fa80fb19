// SPDX-License-Identifier: BSD-3-Clause
// RpcPending receives the end of one call of an RpcCaller. The classes that derive from it pass the answer on: to a
// coroutine (RpcCallWait), to a callback (RpcCalledBack), or to a closure of protobuf's stubs (StubCall in
// rpc_caller.cc).
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/coro/await.h>
#include <peal/protobuf/codec/message_bytes.h>
#include <peal/protobuf/rpc/rpc_trouble.h>

namespace peal::detail {

class RpcCalls;

class RpcPending {
 public:
  RpcPending() = default;
  RpcPending(const RpcPending&) = delete;
  RpcPending& operator=(const RpcPending&) = delete;

  // Exactly one of answered(), failed() and dropped() is called, once, on the loop, when the call ends. None of them is
  // called for a call that was withdrawn.
  //
  // answered() is called if the server sent a response. Returns false if the response cannot be parsed; the call has
  // then failed with kBadResponse.
  virtual bool answered(const MessageBytes& response) = 0;
  // Called if the call has failed with `error`.
  virtual void failed(std::error_code error) = 0;
  // Called if the RpcCaller is destroyed, or if its loop had begun to end before the call was made.
  virtual void dropped() = 0;

 protected:
  ~RpcPending() = default;
};

// A call that a coroutine awaits. The object lives in the coroutine's frame and makes the call when the coroutine is
// suspended.
class RpcCallWait : public Wait, private RpcPending {
 public:
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!timed()) set_timeout(usual_timeout());
    return begin(handle) && start();
  }
  void cancel(Why why) noexcept override;

 protected:
  RpcCallWait(std::shared_ptr<RpcCalls> calls, const google::protobuf::MethodDescriptor& method,
              const google::protobuf::Message& request, google::protobuf::Message& response)
      : calls_(std::move(calls)), method_(method), request_(request), response_(response) {}
  ~RpcCallWait() = default;

  // Sets the deadline of the call, which is also the timeout of the wait.
  void set_timeout(Duration timeout) {
    timeout_ = timeout;
    Wait::set_timeout(timeout);
  }
  // Returns the error of the ended call. Returns no error if the call has a response.
  std::error_code error() const { return failure_ || why_ == 0 ? failure_ : why_.code(); }

 private:
  Duration usual_timeout() const;
  // Makes the call. Returns false if the coroutine must not be suspended, because the call was refused.
  bool start();
  bool answered(const MessageBytes& response) override;
  void failed(std::error_code error) override;
  void dropped() override;

  const std::shared_ptr<RpcCalls> calls_;
  const google::protobuf::MethodDescriptor& method_;
  const google::protobuf::Message& request_;
  google::protobuf::Message& response_;
  Duration timeout_ = {};
  std::error_code failure_;
  uint64_t id_ = 0;
};

// An RpcPending that the RpcCaller owns until the call has ended.
class RpcOwnedPending : public RpcPending {
 public:
  virtual ~RpcOwnedPending() = default;
};

// A call that passes its answer to a callback.
template <class Response>
class RpcCalledBack final : public RpcOwnedPending {
 public:
  explicit RpcCalledBack(Callback<void(Result<Response>)> on_answer) : on_answer_(std::move(on_answer)) {}

 private:
  bool answered(const MessageBytes& bytes) override {
    Result<Response> response(std::in_place);
    const bool is_read = bytes.parse_into(*response);
    if (!is_read) response = fail(RpcTrouble::kBadResponse);
    on_answer_(std::move(response));
    return is_read;
  }
  void failed(std::error_code error) override { on_answer_(std::unexpected(error)); }
  void dropped() override {}

  Callback<void(Result<Response>)> on_answer_;
};

}  // namespace peal::detail
