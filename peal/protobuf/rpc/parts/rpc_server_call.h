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
  // Parses the request. Returns false if the bytes are no request of the method. The call is then released, not begun.
  bool read_request(const MessageBytes& bytes);
  google::protobuf::Message& response() { return *response_; }
  uint64_t id() const { return id_; }
  size_t request_bytes() const { return request_bytes_; }
  // Returns the number of the error with which the call is answered, or 0 if it is answered with the response.
  int32_t failure() const { return failure_; }
  // Returns true if the client still waits for an answer.
  bool needs_answer() const { return session_ != nullptr && !answered_; }
  Result<SocketAddress> client_address() const;

  // Calls the handler. `due` is the deadline, or kNever. When this function returns, the call may have ended, and the
  // object may already be in use for another call.
  void begin(RpcSession& session, uint64_t id, TimePoint due);
  // Called when the client cancels the call: the call is not answered any more, and its handler is cancelled.
  void cancel_for_client();
  // Called when the connection has ended: forgets the session and cancels the handler.
  void detach_from_session();
  // Counts a call whose request cannot be parsed. Such a call is not begun.
  void count_unreadable_request();
  // Marks the call as cancelled and cancels its coroutine, if it has one. Returns the closure that a service gave to
  // NotifyOnCancel(), or null. The caller must run the closure, which may end the call.
  [[nodiscard]] google::protobuf::Closure* cancel(Why why);
  // Returns the next call in the shard's list of waiting calls, or null.
  RpcServerCall* next_waiting() const { return next_; }
  // Prepares the object for the next call. Returns false if its messages have grown too large to be reused.
  bool reset();

 private:
  friend class WaitList<RpcServerCall>;
  friend class RpcSession;
  // The strand on which the coroutine of the handler runs.
  class Strand final : public Runnable, public detail::Strand {
   public:
    Strand(RpcServerCall& call, Task<> task);
    // Called twice: first to start the coroutine, then after it has ended. The second call comes from the ready queue,
    // so the coroutine's frame is not in use any more and can be destroyed.
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

  // The functions of google::protobuf::RpcController, for services.
  void Reset() override {}
  bool Failed() const override { return failure_ != 0; }
  std::string ErrorText() const override { return error_text_; }
  void StartCancel() override {}
  void SetFailed(const std::string& reason) override;
  bool IsCanceled() const override { return is_cancelled(); }
  void NotifyOnCancel(google::protobuf::Closure* callback) override;

  // The function of google::protobuf::Closure: the service calls it as its `done`, on any thread.
  void Run() override;

  void call_handler();
  void call_service(google::protobuf::Service& service);
  // Cancels the handler and runs the closure that the service gave to NotifyOnCancel(). The call may end in it.
  void cancel_and_run_callback(Why why);
  // Called at the deadline.
  void expire();
  // Called after the coroutine has ended: ends the call.
  void task_ended();
  // Makes the call fail with kBadResponse and logs the exception that is being handled.
  void note_exception();
  // Logs the text that the service gave to SetFailed().
  void log_failure();
  bool is_large();
  // Called when the handler has ended: sends the answer if it is still wanted, and releases the call to the shard.
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

  // The neighbours in the session's list of calls, then those in RpcShard::waiting().
  RpcServerCall* session_next_ = nullptr;
  RpcServerCall* session_prev_ = nullptr;
  RpcServerCall* next_ = nullptr;
  RpcServerCall* prev_ = nullptr;
};

}  // namespace peal::detail
