// SPDX-License-Identifier: BSD-3-Clause
// RpcBalancerCalls is the implementation of an RpcBalancer. It has an RpcLink for each server, and all calls without an
// answer. The balancer shares its ownership with the functions that end a call, because a callback may destroy the
// balancer.
//
// A call either waits for a server or is in progress on a link. For the link the call is an RpcPending. The link calls
// it when the call ends there, and it passes the result on to the RpcPending of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <peal/base/clock.h>
#include <peal/base/slot_table.h>
#include <peal/coro/await.h>
#include <peal/protobuf/codec/message_bytes.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <peal/protobuf/rpc/parts/rpc_calls.h>
#include <peal/protobuf/rpc/parts/rpc_link.h>
#include <peal/protobuf/rpc/rpc_balancer.h>
#include <peal/protobuf/rpc/rpc_pending.h>

namespace peal::detail {

class RpcBalancerCalls final : public RpcCalls {
 public:
  RpcBalancerCalls(Loop& loop, const RpcBalancerOptions& options);

  // add() and remove() implement the functions of RpcBalancer with these names.
  Result<void> add(std::string_view address);
  bool remove(std::string_view address);
  // Drops all calls; no callback is called after that. Called when the balancer is destroyed.
  void retire();

  bool is_connected() const;
  RpcBalancerStats stats() const;

  Result<uint64_t> start(RpcPending& pending, const google::protobuf::MethodDescriptor& method,
                         const google::protobuf::Message& request, Duration timeout) override;
  bool withdraw(uint64_t id, Why why) override;

 private:
  struct Server {
    std::string address;
    std::shared_ptr<RpcLink> link;
  };
  // The request of a call that waits for a server.
  struct WaitingRequest {
    const google::protobuf::MethodDescriptor* method = nullptr;
    std::unique_ptr<google::protobuf::Message> request;
    size_t bytes = 0;  // the size of the frame that the request will take
    TimePoint deadline;
  };
  class Call;

  static uint64_t id_of(const Call& call);
  Call* find(uint64_t id) { return calls_.find(static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32)); }
  Owned& owned_of(uint64_t id) override;
  void fail_call(uint64_t id, std::error_code error) override;

  // Draws two servers at random among those that can take a call now. Returns the link of the one with fewer calls in
  // progress. Returns null if no server can take a call.
  RpcLink* draw_link();
  // Returns the link for a new call, or null if the call has to wait for a server. Fails as start() does.
  Result<RpcLink*> link_for_new_call();
  // Starts the call on `link`, which must be able to take it (asserted).
  void send(Call& call, RpcLink& link, const google::protobuf::MethodDescriptor& method,
            const google::protobuf::Message& request, Duration timeout);
  // Copies the request and appends the call to the calls that wait for a server. Throws std::invalid_argument if the
  // request cannot be sent.
  void add_waiting(Call& call, const google::protobuf::MethodDescriptor& method,
                   const google::protobuf::Message& request, Duration timeout);
  // Removes the call from the list of calls that wait for a server, and returns the call's request.
  WaitingRequest take_waiting(Call& call);
  // Sends waiting calls, the oldest first, as long as a server can take one.
  void serve_waiting();
  // Removes an ended call from the table, cancels its timer, and returns its RpcPending. Every caller except withdraw()
  // must then call answered(), failed() or dropped() of the RpcPending. If the call owned the RpcPending, moves the
  // ownership to `owned`.
  RpcPending& end_call(Call& call, std::unique_ptr<RpcOwnedPending>& owned);
  // Ends a call with end_call(), increments `counter`, and calls notify(pending). Then calls use_freed_capacity().
  template <class Notify>
  void end_call_and_notify(Call& call, uint64_t& counter, const Notify& notify);
  // Called after a call has ended. Closes the links of removed servers that have no calls left, and sends calls that
  // wait for a server.
  void use_freed_capacity();
  // Closes and destroys the links of removed servers that have no calls left.
  void retire_idle_removed();

  const RpcBalancerOptions options_;
  const TaggedCodec codec_;
  std::mt19937_64 random_;
  std::vector<Server> servers_;
  std::vector<Server> removed_;       // servers that were removed and still have calls in progress
  std::vector<RpcLink*> drawn_from_;  // used only inside draw_link(); kept for its memory
  SlotTable<Call> calls_;
  WaitList<Call> waiting_;
  size_t waiting_calls_ = 0;
  size_t waiting_bytes_ = 0;
  RpcBalancerStats stats_;
};

// A call that has no answer yet. The object never moves, because the RpcLink and the list of waiting calls point to it.
class RpcBalancerCalls::Call final : public SlotLinks, public Owned, public RpcPending {
 public:
  RpcBalancerCalls* calls = nullptr;
  RpcPending* pending = nullptr;
  RpcLink* link = nullptr;  // null while the call waits for a server
  uint64_t id_there = 0;    // the id that the link gave to the call
  WaitingRequest waiting_request;

  bool answered(const MessageBytes& response) override;
  void failed(std::error_code error) override;
  void dropped() override;

 private:
  friend class WaitList<Call>;

  Call* next_ = nullptr;
  Call* prev_ = nullptr;
};

}  // namespace peal::detail
