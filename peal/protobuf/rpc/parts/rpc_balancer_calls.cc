// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/parts/rpc_balancer_calls.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/base/memory/buffer.h>
#include <peal/protobuf/codec/rpc_envelope.h>

namespace peal::detail {
namespace {

// Returns options for the links of a balancer. A link with these options refuses a call while it is not connected, so
// that the call waits in the balancer instead.
RpcBalancerOptions without_waiting_links(RpcBalancerOptions options) {
  options.channel.waits_for_connection = false;
  return options;
}

}  // namespace

RpcBalancerCalls::RpcBalancerCalls(Loop& loop, const RpcBalancerOptions& options)
    : RpcCalls(loop, options.channel.deadline),
      options_(without_waiting_links(options)),
      codec_{.tag = kRpcTag, .limit_bytes = options.channel.limit_bytes},
      random_(options.seed != 0 ? options.seed : loop.engine().random_seed()) {
  if (options.most_calls == 0)
    throw_bad_value("RpcBalancerOptions::most_calls is {}; it must be above 0", options.most_calls);
}

Result<void> RpcBalancerCalls::add(std::string_view address) {
  if (std::ranges::find(servers_, address, &Server::address) != servers_.end()) return fail(EALREADY);
  auto link = std::make_shared<RpcLink>(*loop_, options_.channel);
  link->begin();
  // The callback may use `this`, because the link is retired before this object is destroyed.
  link->on_open([this] { serve_waiting(); });
  const Result<void> connecting = link->connect(address);
  if (!connecting) {
    link->retire();
    return connecting;
  }
  servers_.push_back({std::string(address), std::move(link)});
  return {};
}

bool RpcBalancerCalls::remove(std::string_view address) {
  const auto server = std::ranges::find(servers_, address, &Server::address);
  if (server == servers_.end()) return false;
  removed_.push_back(std::move(*server));
  servers_.erase(server);
  retire_idle_removed();
  return true;
}

void RpcBalancerCalls::retire() {
  retired_ = true;
  for (std::vector<Server>* const servers : {&servers_, &removed_}) {
    for (const Server& server : std::exchange(*servers, {})) server.link->retire();
  }
  const ReadyQueue::Hold hold;
  while (Call* const call = waiting_.front()) call->dropped();
}

bool RpcBalancerCalls::is_connected() const {
  return std::ranges::any_of(servers_, [](const Server& server) { return server.link->is_connected(); });
}

RpcBalancerStats RpcBalancerCalls::stats() const {
  RpcBalancerStats stats = stats_;
  stats.under_way = calls_.size();
  stats.waiting = waiting_calls_;
  for (const std::vector<Server>* const servers : {&servers_, &removed_}) {
    for (const Server& server : *servers)
      stats.servers.push_back({.address = server.address,
                               .connected = server.link->is_connected(),
                               .removed = servers == &removed_,
                               .calls = server.link->stats()});
  }
  return stats;
}

Result<uint64_t> RpcBalancerCalls::start(RpcPending& pending, const google::protobuf::MethodDescriptor& method,
                                         const google::protobuf::Message& request, Duration timeout) {
  ++stats_.calls;
  const Result<RpcLink*> link = link_for_new_call();
  if (!link) {
    ++stats_.failed;
    return std::unexpected(link.error());
  }
  Call& call = calls_[calls_.acquire()];
  call.calls = this;
  call.pending = &pending;
  try {
    if (*link != nullptr) {
      send(call, **link, method, request, timeout);
    } else {
      add_waiting(call, method, request, timeout);
    }
  } catch (...) {
    ++stats_.failed;
    calls_.release(call.slot);
    throw;
  }
  return id_of(call);
}

bool RpcBalancerCalls::withdraw(uint64_t id, Why why) {
  Call* const call = find(id);
  if (call == nullptr) return false;
  if (call->link != nullptr) call->link->withdraw(call->id_there, why);
  end_call_and_notify(*call, why == ETIMEDOUT ? stats_.timed_out : stats_.cancelled, [](RpcPending&) {});
  return true;
}

uint64_t RpcBalancerCalls::id_of(const Call& call) { return uint64_t{call.generation} << 32 | call.slot; }

RpcCalls::Owned& RpcBalancerCalls::owned_of(uint64_t id) { return *find(id); }

void RpcBalancerCalls::fail_call(uint64_t id, std::error_code error) {
  Call* const call = find(id);
  if (call == nullptr) return;
  const bool timed_out = error == errno_code(ETIMEDOUT);
  if (call->link != nullptr) call->link->withdraw(call->id_there, timed_out ? ETIMEDOUT : ECANCELED);
  end_call_and_notify(*call, timed_out ? stats_.timed_out : stats_.failed,
                      [&](RpcPending& pending) { pending.failed(error); });
}

RpcLink* RpcBalancerCalls::draw_link() {
  drawn_from_.clear();
  for (const Server& server : servers_) {
    if (!server.link->refusal()) drawn_from_.push_back(server.link.get());
  }
  const size_t count = drawn_from_.size();
  if (count == 0) return nullptr;
  const size_t first = random_() % count;
  if (count == 1) return drawn_from_[first];
  const size_t second = (first + 1 + random_() % (count - 1)) % count;
  const auto under_way = [&](size_t which) { return drawn_from_[which]->stats().under_way; };
  return drawn_from_[under_way(second) < under_way(first) ? second : first];
}

Result<RpcLink*> RpcBalancerCalls::link_for_new_call() {
  if (retired_) return fail(ECANCELED);
  if (!mailbox_->open()) return fail(Trouble::kLoopStopped);
  if (calls_.size() >= options_.most_calls) return fail(RpcTrouble::kTooManyCalls);
  // If a callback makes this call just after a server has become able to take one, older calls may still wait. They are
  // sent first.
  if (!waiting_.empty()) serve_waiting();
  if (RpcLink* const link = draw_link()) return link;
  if (is_connected()) return fail(RpcTrouble::kTooManyCalls);
  if (!options_.waits_for_connection) return fail(RpcTrouble::kNotConnected);
  if (waiting_bytes_ > options_.channel.most_unsent_bytes) return fail(RpcTrouble::kTooManyCalls);
  return nullptr;
}

void RpcBalancerCalls::send(Call& call, RpcLink& link, const google::protobuf::MethodDescriptor& method,
                            const google::protobuf::Message& request, Duration timeout) {
  const Result<uint64_t> id = link.start(call, method, request, timeout);
  PEAL_ASSERT(id, "the connection refuses a call although refusal() was empty: {}", id.error().message());
  call.link = &link;
  call.id_there = *id;
}

void RpcBalancerCalls::add_waiting(Call& call, const google::protobuf::MethodDescriptor& method,
                                   const google::protobuf::Message& request, Duration timeout) {
  // This frame is written only to find out now whether the request is valid, and how long it is. Its deadline is one
  // that takes the most bytes. The link writes the frame that is sent later, with an id of its own.
  Buffer frame;
  append_request(
      codec_, frame,
      {.id = 0, .service = method.service()->full_name(), .method = method.name(), .deadline_ms = UINT32_MAX}, request);
  call.waiting_request = {.method = &method,
                          .request = std::unique_ptr<google::protobuf::Message>(request.New()),
                          .bytes = frame.size(),
                          .deadline = later(loop_->now(), timeout)};
  call.waiting_request.request->CopyFrom(request);
  waiting_.push_back(call);
  ++waiting_calls_;
  waiting_bytes_ += call.waiting_request.bytes;
}

RpcBalancerCalls::WaitingRequest RpcBalancerCalls::take_waiting(Call& call) {
  waiting_.remove(call);
  --waiting_calls_;
  waiting_bytes_ -= call.waiting_request.bytes;
  return std::exchange(call.waiting_request, {});
}

void RpcBalancerCalls::serve_waiting() {
  while (Call* const call = waiting_.front()) {
    RpcLink* const link = draw_link();
    if (link == nullptr) return;
    const WaitingRequest waiting_request = take_waiting(*call);
    send(*call, *link, *waiting_request.method, *waiting_request.request, waiting_request.deadline - loop_->now());
  }
}

RpcPending& RpcBalancerCalls::end_call(Call& call, std::unique_ptr<RpcOwnedPending>& owned) {
  if (call.link == nullptr) take_waiting(call);
  call.link = nullptr;
  RpcPending& pending = *call.pending;
  owned = std::move(call.owned);
  const TimerId deadline = std::exchange(call.deadline, {});
  calls_.release(call.slot);
  if (deadline && mailbox_->open()) loop_->cancel(deadline);
  return pending;
}

// `alive` keeps this object alive, because the callback inside notify() may destroy the balancer. The callback may also
// make new calls.
template <class Notify>
void RpcBalancerCalls::end_call_and_notify(Call& call, uint64_t& counter, const Notify& notify) {
  const auto alive = shared_from_this();
  std::unique_ptr<RpcOwnedPending> owned;
  RpcPending& pending = end_call(call, owned);
  ++counter;
  call_and_log_exceptions([&] { notify(pending); });
  use_freed_capacity();
}

void RpcBalancerCalls::use_freed_capacity() {
  if (retired_ || !mailbox_->open()) return;
  if (!removed_.empty()) retire_idle_removed();
  if (!waiting_.empty()) serve_waiting();
}

void RpcBalancerCalls::retire_idle_removed() {
  std::erase_if(removed_, [](const Server& server) {
    if (server.link->stats().under_way != 0) return false;
    server.link->retire();
    return true;
  });
}

bool RpcBalancerCalls::Call::answered(const MessageBytes& response) {
  RpcBalancerCalls& its_calls = *calls;
  const auto alive = its_calls.shared_from_this();
  bool is_read = true;
  its_calls.end_call_and_notify(*this, its_calls.stats_.answered,
                                [&](RpcPending& waiter) { is_read = waiter.answered(response); });
  if (!is_read) {
    --its_calls.stats_.answered;
    ++its_calls.stats_.failed;
  }
  return is_read;
}

void RpcBalancerCalls::Call::failed(std::error_code error) {
  calls->end_call_and_notify(*this, calls->stats_.failed, [&](RpcPending& waiter) { waiter.failed(error); });
}

void RpcBalancerCalls::Call::dropped() {
  std::unique_ptr<RpcOwnedPending> lives_on;
  RpcPending& waiter = calls->end_call(*this, lives_on);
  calls->call_and_log_exceptions([&] { waiter.dropped(); });
}

}  // namespace peal::detail
