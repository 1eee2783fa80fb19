// SPDX-License-Identifier: BSD-3-Clause
// RpcLink is the implementation of an RpcChannel: the connection to one server, and all calls without an answer. An
// RpcBalancer has one RpcLink for each server. The channel or balancer shares its ownership with functions that call a
// callback, because a callback may destroy the channel.
//
// A call either was sent, or it waits for a connection. Each call ends by end_call(), which is the only place where a
// call is removed from the table.
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

  // Creates client_. Must be called once, before all other functions.
  void begin();
  // Starts connecting, as RpcChannel::connect() describes.
  template <class Place>
  Result<void> connect(const Place& place) {
    // A callback of a failed call may call this function while the client has not yet processed the loss of the
    // connection. The client would then refuse to connect again unless it is stopped first.
    if (given_up_) client_->stop();
    const Result<void> begun = client_->connect(place);
    if (begun) given_up_ = false;
    return begun;
  }
  // Closes the connection and fails all calls, as RpcChannel::stop() describes.
  void stop();
  // Drops all calls; no callback is called after that. Called when the channel is destroyed.
  void retire();
  bool is_connected() const;
  // Sets a callback that is called whenever a connection has opened. In this callback the balancer sends the calls that
  // wait.
  void on_open(Callback<void()> on_open) { on_open_ = std::move(on_open); }
  // Returns the error with which start() would refuse a call now. Returns no error if start() would take the call.
  std::error_code refusal() const;
  RpcChannelStats stats() const;
  const RpcChannelOptions& options() const { return options_; }

  Result<uint64_t> start(RpcPending& pending, const google::protobuf::MethodDescriptor& method,
                         const google::protobuf::Message& request, Duration timeout) override;
  bool withdraw(uint64_t id, Why why) override;

 private:
  // The frame of a call that waits for a connection, together with the call's id.
  struct Unsent {
    uint64_t id;
    Buffer frame;
  };
  // A call that has no answer yet.
  struct Call : SlotLinks, Owned {
    RpcPending* pending = nullptr;
    bool sent = false;
    std::list<Unsent>::iterator unsent;  // the frame of the call; valid only while `sent` is false
  };

  static uint64_t id_of(const Call& call) { return uint64_t{call.generation} << 32 | call.slot; }
  Call* find(uint64_t id) { return calls_.find(static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32)); }
  // Returns true if a call may wait for a connection.
  bool may_wait() const { return options_.waits_for_connection && !given_up_; }
  // Removes an ended call from the table, cancels its timer, and returns its RpcPending. Every caller except withdraw()
  // must then call answered(), failed() or dropped() of the RpcPending. If the call owned the RpcPending, moves the
  // ownership to `owned`.
  RpcPending& end_call(Call& call, std::unique_ptr<RpcOwnedPending>& owned);
  Owned& owned_of(uint64_t id) override { return *find(id); }
  void fail_call(uint64_t id, std::error_code error) override;
  // Fails the calls that were sent, with the error `sent_error`, and the calls that were not sent, with the error
  // `unsent_error`. If one of these errors is empty, the calls of that kind do not fail.
  void fail_calls(std::error_code sent_error, std::error_code unsent_error);
  // opened() and received() are callbacks of the connection.
  void opened(Connection& connection);
  void received(Connection& connection, Buffer& input);
  // Reads the body of one frame and handles its message.
  template <class Body>
  void handle_body(Connection& connection, Body& body);
  // Ends the call that the message answers.
  void answered(const RpcEnvelope& envelope);
  void closed(const Connection& connection, CloseReason reason);
  // Fails the calls of `connection`, over which no further answer comes. Does nothing if the link uses another
  // connection.
  void fail_calls_of(const Connection& connection);
  // Called when an attempt to connect has failed. If no further attempt follows, fails the calls that wait.
  void connect_failed(Duration next_attempt_in);

  const RpcChannelOptions options_;
  const TaggedCodec codec_;
  std::unique_ptr<Client> client_;
  Callback<void()> on_open_;
  Connection* connection_ = nullptr;  // null while no connection is open
  SlotTable<Call> calls_;
  std::list<Unsent> unsent_;  // in the order of the calls
  size_t unsent_bytes_ = 0;
  bool given_up_ = false;  // true if no further connection will be opened, unless connect() is called
  RpcChannelStats stats_;

  // The callback for frames that cannot be read. It refuses the connection and sets unreadable_.
  BadMessageCallback on_bad_;
  bool unreadable_ = false;
};

}  // namespace peal::detail
