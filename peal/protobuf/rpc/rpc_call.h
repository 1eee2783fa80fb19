// SPDX-License-Identifier: BSD-3-Clause
// RpcCall gives the handler of a method the facts about the call that it answers. It belongs to the loop of the call's
// connection. It lives until the handler has ended: until a function has returned, or until a Task<> has ended.
#pragma once

#include <atomic>
#include <cstdint>

#include <google/protobuf/descriptor.h>

#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>
#include <peal/loop/loop.h>
#include <peal/protobuf/rpc/rpc_trouble.h>

namespace peal {

class RpcCall {
 public:
  RpcCall(const RpcCall&) = delete;
  RpcCall& operator=(const RpcCall&) = delete;

  const google::protobuf::MethodDescriptor& method() const { return *method_; }
  Loop& loop() const { return loop_; }

  // Returns the time until the deadline. Returns 0 after the deadline, and Duration::max() if there is none. Use it for
  // calls that the handler makes itself: `channel.call(...).within(call.time_left())`.
  Duration time_left() const;
  // Returns true if the answer is not wanted any more: the client has disconnected or has cancelled the call, or the
  // deadline has passed. A coroutine need not call this function, because its waits fail then: with ETIMEDOUT after the
  // deadline, otherwise with ECANCELED. May be called on any thread.
  bool is_cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // Makes the call fail: when the handler ends, the client gets this error instead of the response. Use this function
  // only for errors of the RPC protocol. Errors of the application belong into the fields of its responses.
  void fail(RpcTrouble why) { failure_ = static_cast<int32_t>(why); }
  // Returns the client's address. Fails with ENOTCONN after the client has disconnected.
  Result<SocketAddress> peer_address() const;

 protected:
  RpcCall(Loop& loop, const google::protobuf::MethodDescriptor& method) : loop_(loop), method_(&method) {}
  ~RpcCall() = default;

  Loop& loop_;
  const google::protobuf::MethodDescriptor* const method_;
  TimePoint due_ = kNever;
  int32_t failure_ = 0;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace peal
