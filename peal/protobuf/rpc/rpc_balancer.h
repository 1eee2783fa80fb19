// SPDX-License-Identifier: BSD-3-Clause
// RpcBalancer spreads calls over several servers that all serve the same methods. It has one connection to each server.
//
//   peal::RpcBalancer balancer(loop);
//   for (const char* address : {"10.0.0.1:9981", "10.0.0.2:9981"}) {
//     if (auto added = balancer.add(address); !added) co_return complain(added.error());
//   }
//   peal::Result<EchoResponse> answer = co_await balancer.call(&EchoService::Echo, request).within(200ms);
//
// For each call, two of the connected servers are drawn at random. The call goes to the one with fewer calls in
// progress, so a slow server gets fewer calls. A server that already has RpcChannelOptions::most_calls calls in
// progress is not drawn.
//
// A call is sent at most once. If the connection is lost after that, the call fails with kConnectionLost and is not
// repeated, because the server may have carried it out. While no server is connected, calls wait in the balancer. They
// are sent in the order in which they were made, and later calls do not overtake them.
//
// The rules of RpcChannel for threads and lifetime hold here too. The balancer belongs to its loop, and may be
// destroyed inside a callback of one of its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/protobuf/rpc/rpc_caller.h>
#include <peal/protobuf/rpc/rpc_channel.h>

namespace peal {

namespace detail {
class RpcBalancerCalls;
}  // namespace detail

struct RpcBalancerOptions {
  // The options of the connection to each server. In a balancer, these four mean:
  //   most_calls            the most calls in progress on each single server
  //   deadline              the deadline of each call
  //   most_unsent_bytes     also limits the bytes of the requests that wait in the balancer
  //   waits_for_connection  has no effect; see the option of the same name below
  RpcChannelOptions channel = {};
  // The most calls without an answer. Calls in progress on any server count, and so do calls that wait for a server.
  // One more call fails with kTooManyCalls. Must be above 0.
  size_t most_calls = 100'000;
  // True if a call that is made while no server is connected waits for a server until its deadline. If false, such a
  // call fails with kNotConnected.
  bool waits_for_connection = true;
  // The seed of the random numbers that choose servers. The same seed makes a run repeatable. If 0,
  // Engine::random_seed() is used.
  uint64_t seed = 0;
};

// The state of one server, for RpcBalancerStats.
struct RpcBalancerServer {
  std::string address;  // the text that was given to add()
  bool connected = false;
  bool removed = false;   // remove() was called, and calls on the server are still in progress
  RpcChannelStats calls;  // counts a call that waited in the balancer only after it was sent to this server
};

// Counters since the balancer was created.
struct RpcBalancerStats {
  uint64_t calls = 0;      // all calls that were made, refused ones too
  uint64_t answered = 0;   // calls that ended with a response
  uint64_t failed = 0;     // calls that ended otherwise, except timed_out and cancelled
  uint64_t timed_out = 0;  // calls that this side ended at their deadline
  uint64_t cancelled = 0;
  size_t under_way = 0;  // calls in progress now, including those that wait for a server
  size_t waiting = 0;    // calls that wait for a server now
  std::vector<RpcBalancerServer> servers;
};

class RpcBalancer final : public RpcCaller {
 public:
  // Throws std::invalid_argument if options.most_calls is 0.
  explicit RpcBalancer(Loop& loop, const RpcBalancerOptions& options = {});
  ~RpcBalancer() override;

  // Adds a server and starts connecting to it. Takes the address in the form of Client::connect() and fails as that
  // function does. Also fails with EALREADY if the address was added and has not been removed since. Throws
  // std::invalid_argument if RpcBalancerOptions::channel has values that RpcChannel refuses.
  Result<void> add(std::string_view address);
  // Removes a server, which then gets no further calls. The connection to it is closed when its calls in progress have
  // ended. Returns false if no server was added with exactly this text.
  bool remove(std::string_view address);
  // Returns true if at least one server is connected. Servers that were removed do not count.
  bool is_connected() const;

  RpcBalancerStats stats() const;

 private:
  detail::RpcBalancerCalls& calls() const;
};

}  // namespace peal
