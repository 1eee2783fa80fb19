// SPDX-License-Identifier: BSD-3-Clause
// RpcCall: what the handler of a method knows of the call that it answers. It belongs to the loop of the call's
// connection, and lives until the handler has ended: a function has returned, a Task<> has ended.
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
  // Until the deadline, for the calls that the handler makes itself: `channel.call(...).within(call.time_left())`. 0
  // once it has passed; Duration::max() if there is none.
  Duration time_left() const;
  // Nobody waits for the answer any more: the client has gone or has given the call up, or the deadline has passed. A
  // coroutine hears of it by itself: its waits fail with ECANCELED, or ETIMEDOUT for the deadline. Any thread.
  bool is_cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // Answers this instead of the response. Errors of the application belong into its messages; this is for what the
  // protocol knows.
  void fail(RpcTrouble why) { failure_ = static_cast<int32_t>(why); }
  // ENOTCONN once the client has gone.
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
