// SPDX-License-Identifier: BSD-3-Clause
// RpcChannel: calls methods of one RpcServer, or of a server of muduo's RPC, over one connection.
//
//   peal::RpcChannel channel(loop);
//   auto connecting = channel.connect("127.0.0.1:9981");
//   peal::Result<EchoResponse> answer = co_await channel.call(&EchoService::Echo, request).within(200ms);
//   channel.call(&EchoService::Echo, request, [](peal::Result<EchoResponse> answer) { ... });   // called back
//   EchoService::Stub(&channel).Echo(nullptr, &request, &response, done);                       // as protobuf has it
//
// Any number of calls are under way at once, and are answered in any order. Each ends exactly once: with the response,
// with the server's error (RpcTrouble), with ETIMEDOUT at its deadline, with ECANCELED, or because the connection
// ended. The server is told of the deadline, and of a call that ended here before its answer.
//
// It connects anew, with back-off, when the connection is lost. A call that was sent before then fails with
// kConnectionLost, since the server may have carried it out. A call that was not sent waits for the next connection,
// until its deadline.
//
// It belongs to its loop, and is used where that may be touched: on its thread, before it runs, or after it has ended.
// A callback of another thread calls it through an OnLoop<RpcChannel>. A coroutine of another loop takes a task to it
// by run_on(loop, task), in which OnLoop::here() is the channel; the task's answer comes back.
//
// Once the loop has begun to end, a call fails at once with Trouble::kLoopStopped: `on_answer` is destroyed uncalled,
// and `done` of protobuf's stubs is called inside CallMethod().
//
// The channel may be destroyed inside a callback of its calls. Then no further one begins, except that `done` of
// protobuf's stubs is called for each call. The coroutines that wait for it must have ended before, or its loop must
// have begun to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/base/result.h>
#include <peal/net/client.h>
#include <peal/protobuf/codec/message_codec.h>
#include <peal/protobuf/rpc/rpc_caller.h>
#include <peal/protobuf/rpc/rpc_trouble.h>

namespace peal {

namespace detail {
class RpcLink;
}  // namespace detail

struct RpcChannelOptions {
  RpcChannelOptions() {
    client.retry.attempts = 0;
    client.retry.reconnect = true;
  }

  // `retry` is set to connect again without end.
  ClientOptions client = {};
  // The longest content of a frame, both ways; at most 64 MiB. A longer request throws std::invalid_argument. A
  // response is also limited by ConnectionOptions::input_limit_bytes (16 MiB) of `client`.
  size_t limit_bytes = kMostMessageBytes;
  // Calls that have no answer yet, those that wait for a connection included. One more fails with kTooManyCalls. > 0.
  size_t most_calls = 10'000;
  // While more bytes of requests than this are not sent yet, a call fails with kTooManyCalls, too.
  size_t most_unsent_bytes = 16 * 1024 * 1024;
  // The deadline of calls that name none themselves. 0: none.
  Duration deadline = std::chrono::seconds(30);
  // While there is no connection, a call waits for one, or (false) fails with kNotConnected.
  bool waits_for_connection = true;
};

// Plain counters since the channel was made.
struct RpcChannelStats {
  uint64_t calls = 0;
  uint64_t answered = 0;   // with a response
  uint64_t failed = 0;     // any other end but the next two; refused calls and unreadable responses, too
  uint64_t timed_out = 0;  // at the deadline, here
  uint64_t cancelled = 0;
  uint64_t late = 0;        // answers of calls that had ended
  uint64_t unexpected = 0;  // messages that are no answer
  size_t under_way = 0;
};

class RpcChannel final : public RpcCaller {
 public:
  // std::invalid_argument: most_calls is 0.
  explicit RpcChannel(Loop& loop, const RpcChannelOptions& options = {});
  ~RpcChannel() override;

  // As Client's. Calls may be made before. A channel that does not reconnect may connect anew where a call is told that
  // the connection was lost.
  Result<void> connect(std::string_view address);
  Result<void> connect(const SocketAddress& address);
  // Ends the connection gracefully and connects no more. Calls under way fail, and are called back inside stop(): those
  // that were sent with kConnectionLost, the others with kNotConnected.
  void stop();
  bool is_connected() const;

  RpcChannelStats stats() const;

 private:
  detail::RpcLink& link() const;
};

}  // namespace peal
