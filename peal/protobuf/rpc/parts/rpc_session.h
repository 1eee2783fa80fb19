// SPDX-License-Identifier: BSD-3-Clause
// RpcSession is one connection of an RpcServer, with its calls in progress. It is the connection's context, which owns
// it, and it belongs to the connection's loop.
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
  // Called when the connection is released. Cancels all calls of the connection.
  ~RpcSession();
  RpcSession(const RpcSession&) = delete;
  RpcSession& operator=(const RpcSession&) = delete;

  // Called by on_message and by on_drain of the connection.
  void received(Buffer& input);
  void drain();

  // Sends the response of a call, or the error with which the call failed.
  void answer(RpcServerCall& call);
  void answer_error(uint64_t id, int32_t error);
  // Adds a call to the calls in progress.
  void add(RpcServerCall& call);
  // Removes a call that has ended. Resumes reading if the connection was paused because it had too many calls.
  void remove(RpcServerCall& call);
  // Notes that a call of the method has begun and ended inside received(). record_ended() records its latency later,
  // when the answers are sent.
  void count_ended(MethodStats& method) {
    if (ended_of_ != &method) record_ended(&method);
    ++ended_;
  }
  Result<SocketAddress> peer_address() const { return connection_.peer_address(); }

 private:
  // Reads the body of one frame and handles its message.
  template <class Body>
  void handle_body(Body& body);
  // Begins the call that a message asks for, or answers with an error.
  void begin(const RpcEnvelope& envelope);
  TimePoint deadline_of(const RpcEnvelope& envelope) const;
  // Cancels a call because its client asks for it.
  void cancel_call(uint64_t id);
  void link_last(RpcServerCall& call);
  void unlink(RpcServerCall& call);
  // Returns true if the connection has as many calls, or as many bytes of requests, as it may have.
  bool is_full() const;
  // Closes the connection if the server is draining and no call is in progress or partly received.
  void close_if_drained();
  // Records the latency of the calls that count_ended() has counted. The calls counted next are those of `next`.
  void record_ended(MethodStats* next);

  // Returns the buffer to which answers are written. After writing one, call send_or_batch(). It sends the answer at
  // once or, inside received(), leaves it in the batch.
  Buffer& output() { return batch_ != nullptr ? *batch_ : unbatched_; }
  void send_or_batch();
  void send_batch();
  // Refuses the connection because the peer sent a frame that cannot be read. The answers of earlier calls are sent
  // before.
  void refuse(const BadMessage& bad);

  RpcShard& shard_;
  Connection& connection_;
  // The list of calls in progress, oldest first, except that calls which the client cancelled are at the end.
  RpcServerCall* first_ = nullptr;
  RpcServerCall* last_ = nullptr;
  size_t calls_ = 0;
  size_t request_bytes_ = 0;  // the serialised size of the requests of all calls in the list
  Buffer* batch_ = nullptr;   // points to the batch of answers while received() runs; otherwise null
  Buffer unbatched_;
  // The method and the number of the calls that have ended in received() and whose latency is not recorded yet.
  MethodStats* ended_of_ = nullptr;
  size_t ended_ = 0;
  bool paused_ = false;  // true while the connection is paused because is_full()
  bool draining_ = false;
};

}  // namespace peal::detail
