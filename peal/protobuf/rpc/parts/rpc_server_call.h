// SPDX-License-Identifier: BSD-3-Clause
// RpcServerCall: a call that a server carries out, from its request to the end of its handler. It has its two messages,
// and is used again with them.
//
//   begin() ─► the handler runs ─► end(): answered, unless that was done before
//                    │
//                    ├─ expire(): the deadline has passed: answered kTimeout, and cancelled
//                    ├─ cancel_for_client(): the client wants no answer any more: cancelled
//                    └─ detach_from_session(): the connection is gone: cancelled
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <google/protobuf/message.h>
#include <google/protobuf/service.h>
#include <google/protobuf/stubs/callback.h>

#include <peal/coro/await.h>
#include <peal/coro/task.h>
#include <peal/loop/timer_wheel.h>
#include <peal/protobuf/codec/message_bytes.h>
#include <peal/protobuf/codec/spare_message.h>
#include <peal/protobuf/rpc/rpc_call.h>

namespace peal {
struct MethodStats;
}  // namespace peal

namespace peal::detail {

class RpcCore;
class RpcSession;
class RpcShard;
struct RpcMethod;

class RpcServerCall final : public RpcCall, private google::protobuf::RpcController, private google::protobuf::Closure {
 public:
  RpcServerCall(RpcShard& shard, const RpcMethod& method, MethodStats& stats);
  ~RpcServerCall() override;

  const RpcMethod& its_method() const { return its_method_; }
  // False: the bytes are no request of the method. Then the call is released without begin().
  bool read_request(const MessageBytes& bytes);
  google::protobuf::Message& response() { return *response_; }
  uint64_t id() const { return id_; }
  size_t request_bytes() const { return request_bytes_; }
  // The error that it is answered with; 0: it has a response.
  int32_t failure() const { return failure_; }
  // Whether the client still waits for its answer.
  bool needs_answer() const { return session_ != nullptr && !answered_; }
  Result<SocketAddress> client_address() const;

  // Calls the handler. The call may have ended, and be used again, when this returns.
  void begin(RpcSession& session, uint64_t id, TimePoint due);
  void cancel_for_client();
  void detach_from_session();
  // The request cannot be parsed, so there is nothing to begin.
  void count_unreadable_request();
  // Cancels the coroutine, or answers what NotifyOnCancel() has been given: the caller runs it, which may end the call.
  [[nodiscard]] google::protobuf::Closure* cancel(Why why);
  // The next one in the shard's list of calls that wait.
  RpcServerCall* next_waiting() const { return next_; }
  // To be used again; false: it has grown too large for that.
  bool reset();

 private:
  friend class WaitList<RpcServerCall>;
  friend class RpcSession;
  class Strand final : public Runnable, public detail::Strand {
   public:
    Strand(RpcServerCall& call, Task<> task);
    // Called when it is to begin, and again when it has ended, its frame being at rest.
    void run() noexcept override;
    std::coroutine_handle<> on_done() noexcept override {
      ReadyQueue::run(*this);
      return std::noop_coroutine();
    }
    const std::exception_ptr& thrown() const { return task_.coroutine().promise().thrown(); }

   private:
    RpcServerCall& call_;
    Task<> task_;
  };

  // google::protobuf::RpcController, for services.
  void Reset() override {}
  bool Failed() const override { return failure_ != 0; }
  std::string ErrorText() const override { return error_text_; }
  void StartCancel() override {}
  void SetFailed(const std::string& reason) override;
  bool IsCanceled() const override { return is_cancelled(); }
  void NotifyOnCancel(google::protobuf::Closure* callback) override;
  // google::protobuf::Closure: `done` of a service. Any thread.
  void Run() override;

  void call_handler();
  void call_service(google::protobuf::Service& service);
  void cancel_and_run_callback(Why why);
  void expire();
  void task_ended();
  void note_exception();
  void log_failure();
  bool is_large();
  void end();

  RpcShard& shard_;
  const RpcMethod& its_method_;
  MethodStats& stats_;  // the method's, on this loop
  const std::unique_ptr<google::protobuf::Message> request_;
  const std::unique_ptr<google::protobuf::Message> response_;
  RpcSession* session_ = nullptr;  // null once the connection is gone
  uint64_t id_ = 0;
  size_t request_bytes_ = 0;
  TimePoint began_;
  TimerId deadline_timer_;
  bool answered_ = false;         // by expire(), or not to be answered
  bool has_sent_ = false;         // its response
  bool in_waiting_list_ = false;  // it is in the shard's list, and core_ is held
  bool* ended_ = nullptr;         // while begin() runs: a variable of it, which end() sets
  MessageGrowth growth_;
  std::string error_text_;
  google::protobuf::Closure* on_cancel_ = nullptr;
  std::optional<Strand> strand_;   // of a coroutine
  std::shared_ptr<RpcCore> core_;  // so that the shard lives, while something is waited for
  // In the session's list, and in the shard's of those that wait.
  RpcServerCall* session_next_ = nullptr;
  RpcServerCall* session_prev_ = nullptr;
  RpcServerCall* next_ = nullptr;
  RpcServerCall* prev_ = nullptr;
};

}  // namespace peal::detail
