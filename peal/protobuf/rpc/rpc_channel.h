// SPDX-License-Identifier: BSD-3-Clause
// RpcChannel calls methods of one server over one connection. The server is an RpcServer or one of muduo's RPC.
//
//   peal::RpcChannel channel(loop);
//   auto connecting = channel.connect("127.0.0.1:9981");
//   peal::Result<EchoResponse> answer = co_await channel.call(&EchoService::Echo, request).within(200ms);
//   channel.call(&EchoService::Echo, request, [](peal::Result<EchoResponse> answer) { ... });   // called back
//   EchoService::Stub(&channel).Echo(nullptr, &request, &response, done);                       // as protobuf has it
//
// Many calls may be in progress at once, and they may be answered in any order. Each call ends exactly once:
//   - with the response,
//   - with the server's error (RpcTrouble),
//   - with ETIMEDOUT at its deadline,
//   - with ECANCELED if it is cancelled,
//   - with kConnectionLost or kNotConnected if the connection ends.
// The channel sends the deadline to the server with the call. If a call ends here before its answer has arrived, the
// channel tells the server that the call is cancelled.
//
// When the connection is lost, the channel reconnects with growing pauses. A call that was already sent fails with
// kConnectionLost, because the server may have carried it out. A call that was not sent yet waits for the next
// connection, at most until its deadline.
//
// Threads: the channel belongs to its loop. Use it on the loop's thread, or while no thread runs the loop. A callback
// on another thread uses an OnLoop<RpcChannel>. A coroutine of another loop moves a task to the channel's loop by
// run_on(loop, task) and gets the task's result back; inside the task, OnLoop::here() returns the channel.
//
// After the loop has begun to end, each new call fails at once with Trouble::kLoopStopped. `on_answer` is then
// destroyed without being called, and `done` of protobuf's stubs is called inside CallMethod().
//
// The channel may be destroyed inside a callback of one of its calls. No further callback is called after that. Only
// `done` of protobuf's stubs is called for each unfinished call. Coroutines that wait for a call must have ended before
// the channel is destroyed, unless its loop has begun to end.
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

  // The options of the connection. The default of `retry` makes the client reconnect without end.
  ClientOptions client = {};
  // The longest frame that is sent or received, without its length field; at most 64 MiB. A call with a longer request
  // throws std::invalid_argument. A longer response ends the connection. The length of a response is also limited by
  // ConnectionOptions::input_limit_bytes of `client` (16 MiB).
  size_t limit_bytes = kMostMessageBytes;
  // The most calls without an answer, including calls that wait for a connection. One more call fails with
  // kTooManyCalls. Must be above 0.
  size_t most_calls = 10'000;
  // The most bytes of requests that wait to be sent. While more bytes wait, a new call fails with kTooManyCalls.
  size_t most_unsent_bytes = 16 * 1024 * 1024;
  // The deadline of calls that do not have one of their own. If 0, such calls have no deadline.
  Duration deadline = std::chrono::seconds(30);
  // True if a call that is made while there is no connection waits for one. If false, such a call fails with
  // kNotConnected.
  bool waits_for_connection = true;
};

// Counters since the channel was created.
struct RpcChannelStats {
  uint64_t calls = 0;       // all calls that were made, refused ones too
  uint64_t answered = 0;    // calls that ended with a response
  uint64_t failed = 0;      // calls that ended otherwise, including refused calls and unreadable responses
  uint64_t timed_out = 0;   // calls that this side ended at their deadline; not counted in `failed`
  uint64_t cancelled = 0;   // calls that the application cancelled; not counted in `failed`
  uint64_t late = 0;        // answers that arrived after their call had ended
  uint64_t unexpected = 0;  // messages from the server that are no answers
  size_t under_way = 0;     // calls in progress now
};

class RpcChannel final : public RpcCaller {
 public:
  // Throws std::invalid_argument if options.most_calls is 0.
  explicit RpcChannel(Loop& loop, const RpcChannelOptions& options = {});
  ~RpcChannel() override;

  // Starts connecting to the server. Takes the address in the form of Client::connect() and fails as that function
  // does. Calls may be made before connect(). They wait for the connection if RpcChannelOptions::waits_for_connection
  // is true. If the channel does not reconnect by itself (`retry.reconnect` is false), a callback that gets
  // kConnectionLost may call connect() again.
  Result<void> connect(std::string_view address);
  Result<void> connect(const SocketAddress& address);
  // Closes the connection gracefully and does not reconnect. All calls in progress fail, and their callbacks are called
  // inside stop(). Calls that were sent fail with kConnectionLost, calls that were not sent with kNotConnected.
  void stop();
  // Returns true if there is an open connection. While this is so, calls are sent at once.
  bool is_connected() const;

  RpcChannelStats stats() const;

 private:
  detail::RpcLink& link() const;
};

}  // namespace peal
