// SPDX-License-Identifier: BSD-3-Clause
// RpcBalancer: calls methods of several servers that all serve the same, over one connection to each.
//
//   peal::RpcBalancer balancer(loop);
//   for (const char* address : {"10.0.0.1:9981", "10.0.0.2:9981"}) {
//     if (auto added = balancer.add(address); !added) return complain(added.error());
//   }
//   peal::Result<EchoResponse> answer = co_await balancer.call(&EchoService::Echo, request).within(200ms);
//
// A call goes to the server with fewer calls under way, of two that are drawn from the connected ones. A slow server
// thus gets fewer calls, and nothing needs to know how fast each is. A server that is not connected, or has as many
// calls under way as one may have, is not drawn.
//
// A call is sent once. If its connection is lost after that, it fails with kConnectionLost and is not repeated, since
// the server may have carried it out. While no server is connected, calls wait here for one, in order: those that are
// made later do not overtake them.
//
// Thread and lifetime are RpcChannel's: it belongs to its loop, and may be destroyed inside a callback of its calls.
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
  // For the connection to each server. `most_calls` counts for each server alone, `deadline` is that of each call.
  // `most_unsent_bytes` also limits the requests that wait here. `waits_for_connection` has no effect here.
  RpcChannelOptions channel = {};
  // Calls that have no answer yet, on all servers together, and calls that wait. One more fails with kTooManyCalls.
  // > 0.
  size_t most_calls = 100'000;
  // While no server is connected, a call waits for one until its deadline, or (false) fails with kNotConnected.
  bool waits_for_connection = true;
  uint64_t seed = 0;  // of the draw, for runs that are to be repeated; 0: Engine::random_seed
};

struct RpcBalancerServer {
  std::string address;  // as it was added
  bool connected = false;
  bool removed = false;   // it finishes what is under way
  RpcChannelStats calls;  // of this server; a call that waited counts once it is sent
};

// Plain counters since the balancer was made.
struct RpcBalancerStats {
  uint64_t calls = 0;
  uint64_t answered = 0;   // with a response
  uint64_t failed = 0;     // any other end but the next two
  uint64_t timed_out = 0;  // at the deadline, here
  uint64_t cancelled = 0;
  size_t under_way = 0;  // calls that wait included
  size_t waiting = 0;    // for a server
  std::vector<RpcBalancerServer> servers;
};

class RpcBalancer final : public RpcCaller {
 public:
  // std::invalid_argument: most_calls is 0.
  explicit RpcBalancer(Loop& loop, const RpcBalancerOptions& options = {});
  ~RpcBalancer() override;

  // Begins to connect to a server, as Client::connect(). EALREADY: it was added and not removed since.
  // std::invalid_argument: RpcBalancerOptions::channel is refused by RpcChannel.
  Result<void> add(std::string_view address);
  // No further call goes to the server. Its connection ends once what is under way there has ended. False: no server
  // was added by this text.
  bool remove(std::string_view address);
  // Whether one server at least is connected. Removed servers do not count.
  bool is_connected() const;

  RpcBalancerStats stats() const;

 private:
  detail::RpcBalancerCalls& calls() const;
};

}  // namespace peal
