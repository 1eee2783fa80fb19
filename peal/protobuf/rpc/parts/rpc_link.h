// SPDX-License-Identifier: BSD-3-Clause
// RpcLink: what an RpcChannel does on its loop: the connection, the calls that have no answer yet, and those of them
// that wait for a connection. The channel and the callbacks of its connection hold it.
//
// A call is unsent, and waits for a connection, or it is sent. Either ends by end_call(), which is the only place where
// a call leaves the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <peal/base/memory/buffer.h>
#include <peal/base/slot_table.h>
#include <peal/loop/loop.h>
#include <peal/net/client.h>
#include <peal/protobuf/bad_message.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <peal/protobuf/rpc/parts/rpc_calls.h>
#include <peal/protobuf/rpc/rpc_channel.h>
#include <peal/protobuf/rpc/rpc_pending.h>

namespace peal::detail {

class RpcLink final : public RpcCalls {
 public:
  RpcLink(Loop& loop, const RpcChannelOptions& options);

  // Makes the client; once.
  void begin();
  template <class Place>
  Result<void> connect(const Place& place) {
    // A callback of a lost call may connect anew. The client has not heard of the loss by then, and would refuse.
    if (given_up_) client_->stop();
    const Result<void> begun = client_->connect(place);
    if (begun) given_up_ = false;
    return begun;
  }
  void stop();
  // The channel is gone: the calls are dropped, and nobody is called any more.
  void retire();
  bool is_connected() const;
  // Called whenever a connection opens. For the balancer, which keeps calls until then.
  void on_open(Callback<void()> on_open) { on_open_ = std::move(on_open); }
  // Why start() would refuse a call now. No error: it would not.
  std::error_code refusal() const;
  RpcChannelStats stats() const;
  const RpcChannelOptions& options() const { return options_; }

  Result<uint64_t> start(RpcPending& pending, const google::protobuf::MethodDescriptor& method,
                         const google::protobuf::Message& request, Duration timeout) override;
  bool withdraw(uint64_t id, Why why) override;

 private:
  struct Unsent {
    uint64_t id;
    Buffer frame;
  };
  struct Call : SlotLinks, Owned {
    RpcPending* pending = nullptr;
    bool sent = false;
    std::list<Unsent>::iterator unsent;  // its frame, until it is sent
  };

  static uint64_t id_of(const Call& call) { return uint64_t{call.generation} << 32 | call.slot; }
  Call* find(uint64_t id) { return calls_.find(static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32)); }
  bool may_wait() const { return options_.waits_for_connection && !given_up_; }
  // The call has ended: takes it out of the table, and answers the object that is to be told.
  RpcPending& end_call(Call& call, std::unique_ptr<RpcOwnedPending>& owned);
  Owned& owned_of(uint64_t id) override { return *find(id); }
  void fail_call(uint64_t id, std::error_code error) override;
  // Calls that were sent fail with the first error, calls that were not with the second. Without an error they stay.
  void fail_calls(std::error_code sent_error, std::error_code unsent_error);
  void opened(Connection& connection);
  void received(Connection& connection, Buffer& input);
  template <class Body>
  void show(Connection& connection, Body& body);
  void answered(const RpcEnvelope& envelope);
  void closed(const Connection& connection, CloseReason reason);
  // No answer comes over this connection any more.
  void fail_calls_of(const Connection& connection);
  void connect_failed(Duration next_attempt_in);

  const RpcChannelOptions options_;
  const TaggedCodec codec_;
  std::unique_ptr<Client> client_;
  Callback<void()> on_open_;
  Connection* connection_ = nullptr;  // while it is open
  SlotTable<Call> calls_;
  std::list<Unsent> unsent_;  // in the order of the calls
  size_t unsent_bytes_ = 0;
  bool given_up_ = false;  // no further connection comes
  RpcChannelStats stats_;
  // Refuses the connection, and remembers it in unreadable_.
  BadMessageCallback on_bad_;
  bool unreadable_ = false;
};

}  // namespace peal::detail
