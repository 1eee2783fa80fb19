// SPDX-License-Identifier: BSD-3-Clause
// RpcServerCall is a call that a server carries out, from its request to the end of its handler. It contains the
// request and the response. The shard reuses the object, together with both messages, for later calls of the same
// method.
//
//   begin() ─► the handler runs ─► end(): sends the answer, unless the call was answered before
//                    │
//                    ├─ expire(): the deadline has passed; answers kTimeout and cancels the handler
//                    ├─ cancel_for_client(): the client has cancelled the call; cancels the handler
//                    └─ detach_from_session(): the connection has ended; cancels the handler
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
  // Parses the request. Returns false if the bytes are no request of the method. In that case the caller releases the
  // call and does not begin it.
  bool read_request(const MessageBytes& bytes);
  google::protobuf::Message& response() { return *response_; }
  uint64_t id() const { return id_; }
  size_t request_bytes() const { return request_bytes_; }
  // Returns the number of the error with which the call is answered. Returns 0 if the call is answered with the
  // response.
  int32_t failure() const { return failure_; }
  // Returns true if the client still waits for an answer.
  bool needs_answer() const { return session_ != nullptr && !answered_; }
  Result<SocketAddress> client_address() const;

  // Calls the handler. `due` is the deadline, or kNever if there is none. When this function returns, the call may have
  // ended, and the object may already be in use for another call.
  void begin(RpcSession& session, uint64_t id, TimePoint due);
  // Cancels the handler and marks the call so that it is not answered any more. Called when the client cancels the
  // call.
  void cancel_for_client();
  // Resets session_ and cancels the handler. Called when the connection has ended.
  void detach_from_session();
  // Counts this call as one whose request cannot be parsed. Such a call is not begun.
  void count_unreadable_request();
  // Marks the call as cancelled and cancels its coroutine, if it has one. Returns the closure that a service gave to
  // NotifyOnCancel(), or null if there is none. The caller must run the closure, which may end the call.
  [[nodiscard]] google::protobuf::Closure* cancel(Why why);
  // Returns the next call in the list RpcShard::waiting(), or null at the end of the list.
  RpcServerCall* next_waiting() const { return next_; }
  // Prepares the object for the next call. Returns false if its messages have grown too large to be reused.
  bool reset();

 private:
  friend class WaitList<RpcServerCall>;
  friend class RpcSession;
  // The chain of awaits (Strand) of the handler's coroutine.
  class Strand final : public Runnable, public detail::Strand {
   public:
    Strand(RpcServerCall& call, Task<> task);
    // Called twice: first to start the coroutine, then after the coroutine has ended. The second call comes from the
    // ready queue. The coroutine's frame is not in use any more at that time and can be destroyed.
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

  // The functions of google::protobuf::RpcController, which services call.
  void Reset() override {}
  bool Failed() const override { return failure_ != 0; }
  std::string ErrorText() const override { return error_text_; }
  void StartCancel() override {}
  void SetFailed(const std::string& reason) override;
  bool IsCanceled() const override { return is_cancelled(); }
  void NotifyOnCancel(google::protobuf::Closure* callback) override;

  // The function of google::protobuf::Closure. The service gets this object as `done` and runs it on any thread.
  void Run() override;

  void call_handler();
  void call_service(google::protobuf::Service& service);
  // Cancels the handler and runs the closure that the service gave to NotifyOnCancel(). The closure may end the call.
  void cancel_and_run_callback(Why why);
  // Answers the call with kTimeout if the client still waits for an answer, and cancels the call. Called at the
  // deadline.
  void expire();
  // Ends the call. Called after the coroutine of the handler has ended.
  void task_ended();
  // Makes the call fail with kBadResponse and logs the exception that is being handled.
  void note_exception();
  // Logs the text that the service gave to SetFailed().
  void log_failure();
  bool is_large();
  // Sends the answer if the client still waits for it, and gives this object back to the shard. Called when the handler
  // has ended.
  void end();

  RpcShard& shard_;
  const RpcMethod& its_method_;
  MethodStats& stats_;  // the counters of the method on this loop
  const std::unique_ptr<google::protobuf::Message> request_;
  const std::unique_ptr<google::protobuf::Message> response_;
  RpcSession* session_ = nullptr;  // null after the connection has ended
  uint64_t id_ = 0;
  size_t request_bytes_ = 0;
  TimePoint began_;
  TimerId deadline_timer_;
  bool answered_ = false;         // true if end() must not answer: expire() has answered, or the client has cancelled
  bool has_sent_ = false;         // true if the response was sent
  bool in_waiting_list_ = false;  // true if the call is in RpcShard::waiting()
  bool* ended_ = nullptr;         // while begin() runs, points to its local variable, which end() sets to true
  MessageGrowth growth_;
  std::string error_text_;
  google::protobuf::Closure* on_cancel_ = nullptr;  // the closure that was given to NotifyOnCancel()
  std::optional<Strand> strand_;                    // set while the handler is a coroutine that runs
  std::shared_ptr<RpcCore> core_;  // keeps the shard alive while a coroutine or a service works on the call

  // The neighbours in two lists: session_next_ and session_prev_ in the session's list of calls, next_ and prev_ in
  // RpcShard::waiting().
  RpcServerCall* session_next_ = nullptr;
  RpcServerCall* session_prev_ = nullptr;
  RpcServerCall* next_ = nullptr;
  RpcServerCall* prev_ = nullptr;
};

}  // namespace peal::detail
