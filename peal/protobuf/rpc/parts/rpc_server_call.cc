// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/parts/rpc_server_call.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <variant>

#include <peal/base/assert.h>
#include <peal/base/log.h>
#include <peal/protobuf/codec/spare_message.h>
#include <peal/protobuf/rpc/parts/rpc_session.h>
#include <peal/protobuf/rpc/parts/rpc_shard.h>

namespace peal::detail {

RpcServerCall::Strand::Strand(RpcServerCall& call, Task<> task)
    : detail::Strand(&call.loop()), call_(call), task_(std::move(task)) {}

void RpcServerCall::Strand::run() noexcept {
  auto& promise = task_.coroutine().promise();
  if (promise.strand() != nullptr) return call_.task_ended();
  promise.belong(*this, nullptr);
  task_.coroutine().resume();
}

RpcServerCall::RpcServerCall(RpcShard& shard, const RpcMethod& method, MethodStats& stats)
    : RpcCall(shard.loop(), method.descriptor),
      shard_(shard),
      its_method_(method),
      stats_(stats),
      request_(method.request.New()),
      response_(method.response.New()) {}

RpcServerCall::~RpcServerCall() = default;

Result<SocketAddress> RpcServerCall::client_address() const {
  if (session_ == nullptr) return std::unexpected(errno_code(ENOTCONN));
  return session_->peer_address();
}

bool RpcServerCall::read_request(const MessageBytes& bytes) {
  request_bytes_ = bytes.size();
  return bytes.parse_into(*request_);
}

void RpcServerCall::begin(RpcSession& session, uint64_t id, TimePoint due) {
  session_ = &session;
  id_ = id;
  due_ = due;
  began_ = loop_.now();
  ++stats_.calls;
  session.add(*this);
  bool ended = false;
  ended_ = &ended;
  call_handler();
  if (ended) return;
  ended_ = nullptr;
  if (due_ != kNever) {
    // The closure may use `this`, because end() cancels the timer.
    deadline_timer_ = loop_.at(due_, [this] { expire(); });
  }
}

void RpcServerCall::count_unreadable_request() {
  ++stats_.calls;
  ++stats_.failed;
}

void RpcServerCall::call_handler() {
  if (const auto* function = std::get_if<RpcMethod::Function>(&its_method_.handler)) {
    try {
      (*function)(*this, *request_, *response_);
    } catch (...) {
      note_exception();
    }
    return end();
  }
  core_ = shard_.core().shared_from_this();
  in_waiting_list_ = true;
  shard_.waiting().push_back(*this);
  const auto* coroutine = std::get_if<RpcMethod::Coroutine>(&its_method_.handler);
  if (coroutine == nullptr) return call_service(*std::get<google::protobuf::Service*>(its_method_.handler));
  try {
    strand_.emplace(*this, (*coroutine)(*this, *request_, *response_));
  } catch (...) {
    note_exception();
    return end();
  }
  ReadyQueue::run(*strand_);
}

// If the service calls `done` and then throws, the call has ended, and this object may already serve another call. No
// member is therefore used after CallMethod() if `ended` is true.
void RpcServerCall::call_service(google::protobuf::Service& service) {
  RpcShard& shard = shard_;
  const RpcMethod& method = its_method_;
  const bool& ended = *ended_;
  try {
    service.CallMethod(&method.descriptor, this, request_.get(), response_.get(), this);
  } catch (...) {
    if (ended) return shard.note_handler_exception(method);
    note_exception();
    end();
  }
}

void RpcServerCall::task_ended() {
  const std::exception_ptr thrown = strand_->thrown();
  strand_.reset();  // destroys the coroutine's frame, which refers to the messages, before the messages are reused
  if (thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (...) {
      note_exception();
    }
  }
  end();
}

// Must be called inside a catch block, because it logs the exception that is being handled.
void RpcServerCall::note_exception() {
  failure_ = static_cast<int32_t>(RpcTrouble::kBadResponse);
  shard_.note_handler_exception(its_method_);
}

void RpcServerCall::SetFailed(const std::string& reason) {
  failure_ = static_cast<int32_t>(RpcTrouble::kBadResponse);
  error_text_ = reason;
}

void RpcServerCall::NotifyOnCancel(google::protobuf::Closure* callback) {
  if (cancelled_) return callback->Run();
  on_cancel_ = callback;
}

// If the loop has ended, the task is destroyed without being run, and the call is not answered. The task may have the
// last reference to the core; in that case ~RpcShard deletes this call. The task's destructor must do nothing else,
// because other threads may be ending calls of the same shard at the same time.
void RpcServerCall::Run() {
  PEAL_ASSERT(core_ != nullptr, "done of {} is called after its call has ended", method().full_name());
  if (shard_.mailbox()->here() != nullptr) return end();
  const std::shared_ptr<Mailbox> mailbox = shard_.mailbox();
  mailbox->insist([this, core = std::move(core_)] { end(); });
}

void RpcServerCall::expire() {
  deadline_timer_ = {};
  if (needs_answer()) {
    ++stats_.failed;
    ++stats_.timed_out;
    session_->answer_error(id_, static_cast<int32_t>(RpcTrouble::kTimeout));
  }
  answered_ = true;
  cancel_and_run_callback(ETIMEDOUT);
}

void RpcServerCall::cancel_for_client() {
  ++stats_.cancelled;
  answered_ = true;
  cancel_and_run_callback(ECANCELED);
}

void RpcServerCall::detach_from_session() {
  if (!answered_) ++stats_.cancelled;
  session_ = nullptr;
  cancel_and_run_callback(ECANCELED);
}

google::protobuf::Closure* RpcServerCall::cancel(Why why) {
  cancelled_ = true;
  google::protobuf::Closure* const callback = std::exchange(on_cancel_, nullptr);
  if (strand_) strand_->cancel(why);  // the handler, and with it the call, may end inside cancel()
  return callback;
}

void RpcServerCall::cancel_and_run_callback(Why why) {
  RpcShard& shard = shard_;
  const RpcMethod& method = its_method_;
  if (google::protobuf::Closure* callback = cancel(why)) shard.run_cancel_callback(method, *callback);
}

// The loop and the connection may have been destroyed before this function is called. `core` keeps the shard alive
// until the function returns.
void RpcServerCall::end() {
  const std::shared_ptr<RpcCore> core = std::move(core_);
  if (ended_ != nullptr) {
    *ended_ = true;
    if (session_ != nullptr) session_->count_ended(stats_);
  } else if (Loop* const loop = shard_.mailbox()->reachable()) {
    if (deadline_timer_) loop->cancel(deadline_timer_);
    stats_.latency.record(std::max<int64_t>((loop->engine().now() - began_).count(), 0));
  }
  if (!error_text_.empty()) log_failure();
  if (needs_answer()) {
    session_->answer(*this);
    has_sent_ = failure_ == 0;
    if (!has_sent_) ++stats_.failed;
    if (failure_ == static_cast<int32_t>(RpcTrouble::kTimeout)) ++stats_.timed_out;
  }
  if (google::protobuf::Closure* callback = std::exchange(on_cancel_, nullptr))
    shard_.run_cancel_callback(its_method_, *callback);
  if (std::exchange(in_waiting_list_, false)) shard_.waiting().remove(*this);
  if (session_ != nullptr) session_->remove(*this);
  shard_.release(*this);
}

void RpcServerCall::log_failure() {
  const auto held_back = shard_.admit_log_line();
  if (held_back)
    PEAL_LOG_ERROR("{} has failed: {} ({} more like it)", its_method_.descriptor.full_name(), error_text_, *held_back);
}

// If the response was sent, the message has cached its serialised size, so that the size need not be computed again.
bool RpcServerCall::is_large() {
  const size_t response_bytes = has_sent_ ? static_cast<size_t>(response_->GetCachedSize()) : response_->ByteSizeLong();
  return growth_.is_too_large(request_bytes_ + response_bytes, *request_, *response_);
}

bool RpcServerCall::reset() {
  if (is_large()) return false;
  response_->Clear();
  session_ = nullptr;
  deadline_timer_ = {};
  failure_ = 0;
  cancelled_ = false;
  answered_ = false;
  has_sent_ = false;
  ended_ = nullptr;
  error_text_.clear();
  return true;
}

}  // namespace peal::detail
