// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/parts/rpc_session.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <peal/base/log.h>
#include <peal/coro/await.h>
#include <peal/protobuf/messages_of.h>
#include <peal/protobuf/rpc/parts/rpc_server_call.h>
#include <peal/protobuf/rpc/parts/rpc_shard.h>

namespace peal::detail {
namespace {

// A batch of answers is sent at once when it has reached this size, so that the connection's high-water mark and output
// limit take effect.
constexpr size_t kMostBatchBytes = 64 * 1024;

}  // namespace

RpcSession::~RpcSession() {
  const ReadyQueue::Hold hold;
  while (first_ != nullptr) {
    RpcServerCall& call = *first_;
    first_ = call.session_next_;
    if (first_ != nullptr) first_->session_prev_ = nullptr;
    call.detach_from_session();
  }
}

// The core and this session live until this function returns. The connection owns the core by its callbacks and the
// session by its context, and a connection is never destroyed inside its own callbacks.
void RpcSession::received(Buffer& input) {
  const RpcCore& core = shard_.core();
  Buffer batch;
  batch_ = &batch;
  const auto on_body = [this](auto&& bytes) { handle_body(bytes); };
  const auto on_broken = [this](Connection&, const BadMessage& bad) { refuse(bad); };
  for_each_body(core.codec(), connection_, input, on_body, on_broken);
  record_ended(nullptr);
  send_batch();
  batch_ = nullptr;
  if (!input.holds_blocks()) close_if_drained();
}

void RpcSession::record_ended(MethodStats* next) {
  if (ended_ > 0) {
    const Duration latency = shard_.loop().engine().now() - shard_.loop().now();
    ended_of_->latency.record_n(std::max<int64_t>(latency.count(), 0), ended_);
  }
  ended_of_ = next;
  ended_ = 0;
}

template <class Body>
void RpcSession::handle_body(Body& body) {
  const size_t body_bytes = body.size();
  RpcEnvelope envelope;
  if (const auto read = envelope.read_body(shard_.core().codec(), body); !read)
    return refuse({.why = read.error(), .type_name = {}, .body_bytes = body_bytes});
  switch (envelope.type()) {
    case RpcType::kRequest: return begin(envelope);
    case RpcType::kCancel: return cancel_call(envelope.id());
    case RpcType::kResponse: ++shard_.stats().unexpected; return;
  }
}

void RpcSession::begin(const RpcEnvelope& envelope) {
  const auto refuse = [this, id = envelope.id()](RpcTrouble why) { answer_error(id, static_cast<int32_t>(why)); };
  const RpcMethod* const method = shard_.find(envelope.service(), envelope.method());
  if (method == nullptr) {
    ++shard_.stats().unknown;
    return refuse(shard_.core().has_service(envelope.service()) ? RpcTrouble::kNoMethod : RpcTrouble::kNoService);
  }
  if (shard_.is_full()) {
    ++shard_.stats().overloaded;
    return refuse(RpcTrouble::kOverloaded);
  }
  RpcServerCall& call = shard_.acquire(*method);
  if (!call.read_request(envelope.request())) {
    call.count_unreadable_request();
    shard_.release(call);
    return refuse(RpcTrouble::kBadRequest);
  }
  call.begin(*this, envelope.id(), deadline_of(envelope));
  if (is_full() && !paused_) {
    paused_ = true;
    connection_.pause();
  }
}

TimePoint RpcSession::deadline_of(const RpcEnvelope& envelope) const {
  const Duration longest = shard_.options().longest_call;
  Duration allowed = longest > Duration::zero() ? longest : Duration::max();
  if (const auto left_ms = envelope.deadline_ms())
    allowed = std::min<Duration>(allowed, std::chrono::milliseconds(*left_ms));
  return later(shard_.loop().now(), allowed);
}

// The linear search is fast enough. A connection has few calls (RpcServerOptions::most_calls_per_connection), and the
// call to cancel is usually among the oldest, which come first.
void RpcSession::cancel_call(uint64_t id) {
  RpcServerCall* call = first_;
  while (call != nullptr && (call->id() != id || !call->needs_answer())) call = call->session_next_;
  if (call == nullptr) {
    ++shard_.stats().unexpected;
    return;
  }
  // A cancelled call may stay in the list for a long time, until its service calls `done`. The call is moved to the end
  // of the list, so that it does not slow down the next search.
  unlink(*call);
  link_last(*call);
  call->cancel_for_client();
}

void RpcSession::answer(RpcServerCall& call) {
  if (call.failure() != 0) return answer_error(call.id(), call.failure());
  try {
    append_response(shard_.core().codec(), output(), call.id(), call.response());
  } catch (const std::invalid_argument& error) {  // the response lacks a required field, or is too long
    const auto held_back = shard_.admit_log_line();
    if (held_back)
      PEAL_LOG_ERROR("the handler of {} made a response that cannot be sent: {} ({} more like it)",
                     call.method().full_name(), error.what(), *held_back);
    call.fail(RpcTrouble::kBadResponse);
    return answer_error(call.id(), call.failure());
  }
  send_or_batch();
}

void RpcSession::answer_error(uint64_t id, int32_t error) {
  append_error(output(), id, error);
  send_or_batch();
}

void RpcSession::send_or_batch() {
  if (batch_ == nullptr) {
    connection_.send(std::exchange(unbatched_, Buffer()));
  } else if (batch_->size() >= kMostBatchBytes) {
    send_batch();
  }
}

void RpcSession::send_batch() {
  if (batch_->empty()) return;
  connection_.send(std::move(*batch_));
  batch_->clear();
}

void RpcSession::refuse(const BadMessage& bad) {
  send_batch();
  shard_.core().on_bad(connection_, bad);
}

bool RpcSession::is_full() const {
  const RpcServerOptions& options = shard_.options();
  return calls_ >= options.most_calls_per_connection || request_bytes_ >= options.most_request_bytes_per_connection;
}

void RpcSession::link_last(RpcServerCall& call) {
  call.session_next_ = nullptr;
  call.session_prev_ = last_;
  if (last_ == nullptr) {
    first_ = &call;
  } else {
    last_->session_next_ = &call;
  }
  last_ = &call;
}

void RpcSession::unlink(RpcServerCall& call) {
  if (call.session_prev_ == nullptr) {
    first_ = call.session_next_;
  } else {
    call.session_prev_->session_next_ = call.session_next_;
  }
  if (call.session_next_ == nullptr) {
    last_ = call.session_prev_;
  } else {
    call.session_next_->session_prev_ = call.session_prev_;
  }
}

void RpcSession::add(RpcServerCall& call) {
  link_last(call);
  request_bytes_ += call.request_bytes();
  ++calls_;
  if (calls_ == 1) connection_.set_busy(true);
}

void RpcSession::remove(RpcServerCall& call) {
  unlink(call);
  request_bytes_ -= call.request_bytes();
  --calls_;
  if (calls_ == 0) connection_.set_busy(false);
  if (paused_ && !is_full()) {
    paused_ = false;
    connection_.resume();
  }
  if (batch_ == nullptr) close_if_drained();
}

void RpcSession::drain() {
  draining_ = true;
  close_if_drained();
}

// The connection stays open while it has input that was not read, so that a call that has arrived in part is still
// answered.
void RpcSession::close_if_drained() {
  if (draining_ && calls_ == 0 && !paused_ && connection_.kept_input().empty()) connection_.close();
}

}  // namespace peal::detail
