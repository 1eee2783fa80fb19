// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/parts/rpc_link.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/net/connection.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <peal/protobuf/messages_of.h>

namespace peal::detail {
namespace {

// Returns the deadline that is sent to the server in milliseconds, rounded up and at least 1. Returns nullopt if the
// call has no deadline.
std::optional<uint32_t> deadline_ms(Duration timeout) {
  if (timeout >= RpcCalls::kNoDeadline) return std::nullopt;
  const int64_t left = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  return static_cast<uint32_t>(std::clamp<int64_t>(left, 1, UINT32_MAX));
}

// Returns the error for the error number in a server's answer. Numbers of errors that only the client finds become
// kBadResponse. Otherwise a server that answered kNotConnected could make the caller repeat a call that was carried
// out.
std::error_code error_of_answer(int32_t number) {
  const auto trouble = static_cast<RpcTrouble>(number);
  const bool is_own = trouble >= RpcTrouble::kNotConnected && trouble <= RpcTrouble::kTooManyCalls;
  return make_error_code(is_own ? RpcTrouble::kBadResponse : trouble);
}

}  // namespace

RpcLink::RpcLink(Loop& loop, const RpcChannelOptions& options)
    : RpcCalls(loop, options.deadline),
      options_(options),
      codec_{.tag = kRpcTag, .limit_bytes = options.limit_bytes},
      on_bad_([this, refuse = refuse_bad_messages()](Connection& connection, const BadMessage& bad) {
        refuse(connection, bad);
        unreadable_ = true;
      }) {
  if (options.most_calls == 0)
    throw_bad_value("RpcChannelOptions::most_calls is {}; it must be above 0", options.most_calls);
}

void RpcLink::begin() {
  ConnectionCallbacks callbacks;
  callbacks.on_open = [this](Connection& connection) { opened(connection); };
  callbacks.on_message = [this](Connection& connection, Buffer& input) { received(connection, input); };
  callbacks.on_close = [this](Connection& connection, CloseReason reason) { closed(connection, reason); };
  // The callbacks may use `this`, because the link owns the client.
  client_ = std::make_unique<Client>(*loop_, std::move(callbacks), options_.client,
                                     [this](std::error_code, Duration next) { connect_failed(next); });
}

RpcChannelStats RpcLink::stats() const {
  RpcChannelStats stats = stats_;
  stats.under_way = calls_.size();
  return stats;
}

void RpcLink::stop() {
  const auto alive = shared_from_this();
  given_up_ = true;
  client_->stop();
  connection_ = nullptr;
  fail_calls(make_error_code(RpcTrouble::kConnectionLost), make_error_code(RpcTrouble::kNotConnected));
}

void RpcLink::retire() {
  retired_ = true;
  const std::unique_ptr<Client> client = std::move(client_);
  connection_ = nullptr;
  const ReadyQueue::Hold hold;
  for (uint32_t slot = 0; slot < calls_.capacity(); ++slot) {
    if (calls_[slot].generation == 0) continue;
    std::unique_ptr<RpcOwnedPending> owned;
    RpcPending& pending = end_call(calls_[slot], owned);
    call_and_log_exceptions([&] { pending.dropped(); });
  }
}

bool RpcLink::is_connected() const { return connection_ != nullptr && connection_->can_send(); }

std::error_code RpcLink::refusal() const {
  if (retired_) return errno_code(ECANCELED);
  if (!mailbox_->open()) return make_error_code(Trouble::kLoopStopped);
  const bool connected = is_connected();
  if (!connected && !may_wait()) return make_error_code(RpcTrouble::kNotConnected);
  const size_t waiting_bytes = connected ? connection_->queued_bytes() : unsent_bytes_;
  if (calls_.size() >= options_.most_calls || waiting_bytes > options_.most_unsent_bytes)
    return make_error_code(RpcTrouble::kTooManyCalls);
  return {};
}

Result<uint64_t> RpcLink::start(RpcPending& pending, const google::protobuf::MethodDescriptor& method,
                                const google::protobuf::Message& request, Duration timeout) {
  ++stats_.calls;
  if (const std::error_code why = refusal()) {
    ++stats_.failed;
    return std::unexpected(why);
  }
  Call& call = calls_[calls_.acquire()];
  const uint64_t id = id_of(call);
  Buffer frame;
  try {
    append_request(codec_, frame,
                   {.id = id,
                    .service = method.service()->full_name(),
                    .method = method.name(),
                    .deadline_ms = deadline_ms(timeout)},
                   request);
  } catch (...) {
    ++stats_.failed;
    calls_.release(call.slot);
    throw;
  }
  call.pending = &pending;
  call.sent = is_connected();
  if (call.sent) {
    connection_->send(std::move(frame));
  } else {
    unsent_bytes_ += frame.size();
    call.unsent = unsent_.insert(unsent_.end(), {id, std::move(frame)});
  }
  return id;
}

RpcPending& RpcLink::end_call(Call& call, std::unique_ptr<RpcOwnedPending>& owned) {
  RpcPending& pending = *call.pending;
  owned = std::move(call.owned);
  const TimerId deadline = std::exchange(call.deadline, {});
  if (!call.sent) {
    unsent_bytes_ -= call.unsent->frame.size();
    unsent_.erase(call.unsent);
  }
  calls_.release(call.slot);
  if (deadline && mailbox_->open()) loop_->cancel(deadline);
  return pending;
}

bool RpcLink::withdraw(uint64_t id, Why why) {
  Call* const call = find(id);
  if (call == nullptr) return false;
  const bool sent = call->sent;
  std::unique_ptr<RpcOwnedPending> owned;
  end_call(*call, owned);
  if (why == ETIMEDOUT) {
    ++stats_.timed_out;
  } else {
    ++stats_.cancelled;
  }
  if (sent && connection_ != nullptr) {
    Buffer frame;
    append_cancel(frame, id);
    connection_->send(std::move(frame));
  }
  return true;
}

void RpcLink::fail_call(uint64_t id, std::error_code error) {
  Call* const call = find(id);
  if (call == nullptr) return;
  std::unique_ptr<RpcOwnedPending> owned;
  if (error == errno_code(ETIMEDOUT)) {
    owned = std::move(call->owned);
    withdraw(id, ETIMEDOUT);
    return call_and_log_exceptions([&] { owned->failed(error); });
  }
  RpcPending& pending = end_call(*call, owned);
  ++stats_.failed;
  call_and_log_exceptions([&] { pending.failed(error); });
}

// All calls to fail are listed before the first callback is called. A callback may make new calls, connect again, or
// destroy the channel, and its new calls must not fail.
void RpcLink::fail_calls(std::error_code sent_error, std::error_code unsent_error) {
  std::vector<std::pair<uint64_t, std::error_code>> failing;
  for (uint32_t slot = 0; slot < calls_.capacity(); ++slot) {
    const Call& call = calls_[slot];
    if (call.generation == 0) continue;
    if (const std::error_code error = call.sent ? sent_error : unsent_error) failing.emplace_back(id_of(call), error);
  }
  const ReadyQueue::Hold hold;
  for (const auto& [id, error] : failing) fail_call(id, error);
}

void RpcLink::opened(Connection& connection) {
  connection_ = &connection;
  Buffer batch;
  for (Unsent& unsent : unsent_) {
    find(unsent.id)->sent = true;
    batch.append(std::move(unsent.frame));
  }
  unsent_.clear();
  unsent_bytes_ = 0;
  if (!batch.empty()) connection.send(std::move(batch));
  if (on_open_) on_open_();
}

template <class Body>
void RpcLink::handle_body(Connection& connection, Body& body) {
  const size_t body_bytes = body.size();
  RpcEnvelope envelope;
  if (const auto read = envelope.read_body(codec_, body); !read)
    return on_bad_(connection, {.why = read.error(), .type_name = {}, .body_bytes = body_bytes});
  if (envelope.type() != RpcType::kResponse) {
    ++stats_.unexpected;
    return;
  }
  answered(envelope);
}

void RpcLink::received(Connection& connection, Buffer& input) {
  const auto alive = shared_from_this();
  const ReadyQueue::Hold hold;
  const auto on_body = [&](auto&& bytes) {
    if (!retired_) handle_body(connection, bytes);
  };
  for_each_body(codec_, connection, input, on_body, on_bad_);
  // No further answer is read from this connection. The calls fail now, because the connection may stay open until the
  // server closes it.
  if (std::exchange(unreadable_, false)) fail_calls_of(connection);
}

void RpcLink::answered(const RpcEnvelope& envelope) {
  Call* const call = find(envelope.id());
  if (call == nullptr || !call->sent) {
    ++stats_.late;
    return;
  }
  std::unique_ptr<RpcOwnedPending> owned;
  RpcPending& pending = end_call(*call, owned);
  if (envelope.error() != 0) {
    ++stats_.failed;
    return call_and_log_exceptions([&] { pending.failed(error_of_answer(envelope.error())); });
  }
  ++stats_.answered;
  bool is_read = true;
  call_and_log_exceptions([&] { is_read = pending.answered(envelope.response()); });
  if (is_read) return;
  --stats_.answered;
  ++stats_.failed;
}

void RpcLink::closed(const Connection& connection, CloseReason reason) {
  if (reason != CloseReason::kLoopStopped) return fail_calls_of(connection);
  const auto alive = shared_from_this();
  connection_ = nullptr;
  const std::error_code stopped = make_error_code(Trouble::kLoopStopped);
  fail_calls(stopped, stopped);
}

void RpcLink::fail_calls_of(const Connection& connection) {
  // An old connection may close after the next one has opened, for example after stop() and connect(). The calls of the
  // old connection have failed already, and the calls of the new connection must not fail.
  if (&connection != connection_) return;
  const auto alive = shared_from_this();
  connection_ = nullptr;
  given_up_ = given_up_ || !options_.client.retry.reconnect;
  fail_calls(make_error_code(RpcTrouble::kConnectionLost),
             given_up_ ? make_error_code(RpcTrouble::kNotConnected) : std::error_code());
}

void RpcLink::connect_failed(Duration next_attempt_in) {
  const auto alive = shared_from_this();
  if (next_attempt_in != Client::kNoRetry) return;
  given_up_ = true;
  fail_calls({}, make_error_code(RpcTrouble::kNotConnected));
}

}  // namespace peal::detail
