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
  // Cancels all calls of the connection. Called when the connection is released.
  ~RpcSession();
  RpcSession(const RpcSession&) = delete;
  RpcSession& operator=(const RpcSession&) = delete;

  // received() is called by on_message of the connection, and drain() by its on_drain.
  void received(Buffer& input);
  void drain();

  // answer() sends the response of a call, or the error with which the call has failed. answer_error() sends an error.
  void answer(RpcServerCall& call);
  void answer_error(uint64_t id, int32_t error);
  // Adds a call to the calls in progress.
  void add(RpcServerCall& call);
  // Removes a call that has ended. Resumes reading if the connection was paused because it had too many calls.
  void remove(RpcServerCall& call);
  // Notes that a call of `method` has begun and ended inside received(). Its latency is recorded by record_ended()
  // later, when the answers are sent.
  void count_ended(MethodStats& method) {
    if (ended_of_ != &method) record_ended(&method);
    ++ended_;
  }
  Result<SocketAddress> peer_address() const { return connection_.peer_address(); }

 private:
  // Reads the body of one frame and handles its message.
  template <class Body>
  void handle_body(Body& body);
  // Begins the call that a request message asks for, or answers the message with an error.
  void begin(const RpcEnvelope& envelope);
  TimePoint deadline_of(const RpcEnvelope& envelope) const;
  // Cancels the call with this id. Called when the client has sent a cancellation.
  void cancel_call(uint64_t id);
  void link_last(RpcServerCall& call);
  void unlink(RpcServerCall& call);
  // Returns true if the connection has reached the most calls in progress, or the most bytes of their requests.
  bool is_full() const;
  // Closes the connection if the server is draining and no call is in progress or partly received.
  void close_if_drained();
  // Records the latency of the calls that count_ended() has counted. From then on count_ended() counts
  // calls of the method `next`.
  void record_ended(MethodStats* next);

  // Returns the buffer to which answers are written. Call send_or_batch() after writing an answer. It sends the answer
  // at once, or leaves it in the batch while received() runs.
  Buffer& output() { return batch_ != nullptr ? *batch_ : unbatched_; }
  void send_or_batch();
  void send_batch();
  // Sends the answers of earlier calls, then refuses the connection, because the peer has sent a frame that cannot be
  // read.
  void refuse(const BadMessage& bad);

  RpcShard& shard_;
  Connection& connection_;
  // The list of calls in progress, in the order of their arrival. A call that the client cancels is moved to the end.
  RpcServerCall* first_ = nullptr;
  RpcServerCall* last_ = nullptr;
  size_t calls_ = 0;
  size_t request_bytes_ = 0;  // the serialised size of the requests of all calls in the list
  Buffer* batch_ = nullptr;   // points to the batch of answers while received() runs; otherwise null
  Buffer unbatched_;
  // The calls that have begun and ended in received() and whose latency is not recorded yet: ended_of_ is their method,
  // and ended_ is their number.
  MethodStats* ended_of_ = nullptr;
  size_t ended_ = 0;
  bool paused_ = false;  // true while the connection is paused because is_full()
  bool draining_ = false;
};

}  // namespace peal::detail
