// SPDX-License-Identifier: BSD-3-Clause
// RpcSession: a connection of an RpcServer, and the calls that are under way on it. It is the connection's context, and
// belongs to its loop.
#pragma once

#include <cstddef>
#include <cstdint>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>
#include <peal/net/connection.h>
#include <peal/protobuf/bad_message.h>
#include <peal/protobuf/codec/rpc_envelope.h>

namespace peal {
struct MethodStats;
}  // namespace peal

namespace peal::detail {

class RpcServerCall;
class RpcShard;

class RpcSession {
 public:
  RpcSession(RpcShard& shard, Connection& connection) : shard_(shard), connection_(connection) {}
  // The connection is gone: its calls are cancelled.
  ~RpcSession();
  RpcSession(const RpcSession&) = delete;
  RpcSession& operator=(const RpcSession&) = delete;

  // Called by the connection's callbacks.
  void received(Buffer& input);
  void drain();

  // Sends the call's response, or what it failed with.
  void answer(RpcServerCall& call);
  void answer_error(uint64_t id, int32_t error);
  void add(RpcServerCall& call);
  // The call has ended.
  void remove(RpcServerCall& call);
  // A call of the method has begun and ended in received(): its latency is known when the answers leave.
  void count_ended(MethodStats& method) {
    if (ended_of_ != &method) record_ended(&method);
    ++ended_;
  }
  Result<SocketAddress> peer_address() const { return connection_.peer_address(); }

 private:
  template <class Body>
  void show(Body& body);
  void begin(const RpcEnvelope& envelope);
  TimePoint deadline_of(const RpcEnvelope& envelope) const;
  void cancel_call(uint64_t id);
  void link_last(RpcServerCall& call);
  void unlink(RpcServerCall& call);
  bool is_full() const;
  void close_if_drained();
  // Counts the latency of the calls that were noted; the next ones are of that method.
  void record_ended(MethodStats* next);
  // Where answers are written. send_or_batch() sends them at once or, in received(), together.
  Buffer& output() { return batch_ != nullptr ? *batch_ : unbatched_; }
  void send_or_batch();
  void send_batch();
  // The peer sent what cannot be read. Calls that came before it are answered first.
  void refuse(const BadMessage& bad);

  RpcShard& shard_;
  Connection& connection_;
  RpcServerCall* first_ = nullptr;  // the calls under way: the oldest first, then those that were given up
  RpcServerCall* last_ = nullptr;
  size_t calls_ = 0;
  size_t request_bytes_ = 0;
  Buffer* batch_ = nullptr;  // in received()
  Buffer unbatched_;
  // Calls that have ended in received() and whose latency is not counted yet: their method and their number.
  MethodStats* ended_of_ = nullptr;
  size_t ended_ = 0;
  bool paused_ = false;
  bool draining_ = false;
};

}  // namespace peal::detail
