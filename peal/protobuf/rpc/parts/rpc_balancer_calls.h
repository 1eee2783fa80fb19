// SPDX-License-Identifier: BSD-3-Clause
// RpcBalancerCalls: what an RpcBalancer does on its loop. It keeps a link for each server, and the calls that have no
// answer yet. The balancer holds it, and so does each call's end while it runs.
//
// A call waits for a server, or is under way on a link. To the link it is an RpcPending, which passes the end on to
// whoever made the call.
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

  Result<void> add(std::string_view address);
  bool remove(std::string_view address);
  // The balancer is gone: the calls are dropped, and nobody is called any more.
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
  // A request that waits for a server.
  struct WaitingRequest {
    const google::protobuf::MethodDescriptor* method = nullptr;
    std::unique_ptr<google::protobuf::Message> request;
    size_t bytes = 0;
    TimePoint deadline;
  };
  class Call;

  static uint64_t id_of(const Call& call);
  Call* find(uint64_t id) { return calls_.find(static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32)); }
  Owned& owned_of(uint64_t id) override;
  void fail_call(uint64_t id, std::error_code error) override;

  // The link for a call to be sent now; null: none takes it.
  RpcLink* draw_link();
  // The link for a new call; null: the call waits. kNotConnected, kTooManyCalls; Trouble::kLoopStopped, or ECANCELED
  // once retired.
  Result<RpcLink*> link_for_new_call();
  void send(Call& call, RpcLink& link, const google::protobuf::MethodDescriptor& method,
            const google::protobuf::Message& request, Duration timeout);
  // std::invalid_argument: the request cannot be sent.
  void add_waiting(Call& call, const google::protobuf::MethodDescriptor& method,
                   const google::protobuf::Message& request, Duration timeout);
  WaitingRequest take_waiting(Call& call);
  void serve_waiting();
  // The call has ended: takes it out of the table, and answers the object that is to be told.
  RpcPending& end_call(Call& call, std::unique_ptr<RpcOwnedPending>& owned);
  template <class Notify>
  void end_call_and_notify(Call& call, uint64_t& counter, const Notify& notify);
  // After the end of a call, which may have left a server with nothing to do, or with room for another one.
  void use_freed_capacity();
  void retire_idle_removed();

  const RpcBalancerOptions options_;
  const TaggedCodec codec_;
  std::mt19937_64 random_;
  std::vector<Server> servers_;
  std::vector<Server> removed_;  // removed, with calls under way
  std::vector<RpcLink*> drawn_from_;
  SlotTable<Call> calls_;
  WaitList<Call> waiting_;
  size_t waiting_calls_ = 0;
  size_t waiting_bytes_ = 0;
  RpcBalancerStats stats_;
};

// It never moves.
class RpcBalancerCalls::Call final : public SlotLinks, public Owned, public RpcPending {
 public:
  RpcBalancerCalls* calls = nullptr;
  RpcPending* pending = nullptr;
  RpcLink* link = nullptr;  // null: it waits
  uint64_t id_there = 0;    // on the link
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
