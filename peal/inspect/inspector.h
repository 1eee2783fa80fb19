// SPDX-License-Identifier: BSD-3-Clause
// Inspector: a live page about this process: loops, servers, connections, stalls, threads, memory; the same as JSON and
// as metrics for Prometheus. docs/inspector.md tells what each number means.
//
//   auto inspector = peal::Inspector::attach(server, "127.0.0.1:9990");    // one line
//
//   peal::Inspector inspector(loop);                                       // the same, in pieces
//   inspector.add(server, "front");                                        // by that name in page, JSON and metrics
//   inspector.add(group);
//   inspector.listen("127.0.0.1:9990");
//
// It is pulled: nobody pays for it but who asks, and each loop that is shown two clock reads a turn. attach() gives it
// a loop and a thread of its own, so that it still answers when every other loop stands still: such a loop is shown as
// stalled, with the last it had told.
//
// Anybody who can reach its address may look; the default is this machine alone. The log level, draining, and the end
// of a connection may be asked for from this machine, or, once a token is set, from anywhere with the token.
//
// Used by one thread at a time, before the loops run or while they do. A server that is destroyed is shown no more, and
// a loop that has ended is shown as such; remove() has it sooner. A watchdog outlives the inspector, or is removed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>
#include <peal/observe/method_stats.h>

namespace peal {

class CoServer;
class HttpServer;
class Loop;
class LoopGroup;
class Server;
class StallWatchdog;
class StreamLayer;

struct InspectorOptions {
  // What attach() calls its server, "api" say; empty, the default: "server 0".
  std::string name = {};
  // What actions need, as `Authorization: Bearer TOKEN`. Empty, the default: none, but only this machine may act, and
  // not through a proxy that says it is one. Behind a proxy, set it: one that says nothing looks like this machine.
  std::string token = {};
  // Names by which the page is reached, besides localhost and any address: a request for another name is refused,
  // because a web site could have sent it.
  std::vector<std::string> hosts = {};
  // TLS, say: the pages are at https then. It outlives the inspector. Who gives it a certificate that it verifies may
  // act, from anywhere and without the token, but not through a proxy that says it is one; where it requires one,
  // nobody else may look.
  const StreamLayer* layer = nullptr;
  // How long an answer waits for a loop. Longer than a healthy turn, and nobody minds it in a page.
  Duration reply_timeout = std::chrono::milliseconds(250);
  // Told of each server on each loop, those with the most queued bytes first. Each costs a few system calls.
  size_t most_connections = 100;
  // Time the turns of the loops that are shown: their busy share and how long turns last.
  bool measure_turns = true;
  // What to do, on the inspector's loop, when a server shall be drained. Where there is none it is drained for 30 s,
  // or, if the parent process holds its listening sockets open too, nothing is done: clients would wait there for
  // nobody. So the worker of a master leaves instead: `loop.post([&] { worker.leave(Leave::kDrain, loop, server); })`.
  CopyableCallback<void(Server&)> on_drain = {};
};

class Inspector {
 public:
  static constexpr std::string_view kDefaultAddress = "127.0.0.1:9990";

  // On `loop`, which outlives it or its own end.
  explicit Inspector(Loop& loop, const InspectorOptions& options = {});
  ~Inspector();
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  // On a thread of its own, showing this server, and listening. What listen() and LoopGroup::start() fail with.
  static Result<std::unique_ptr<Inspector>> attach(Server& server, std::string_view address = kDefaultAddress,
                                                   const InspectorOptions& options = {});
  static Result<std::unique_ptr<Inspector>> attach(HttpServer& server, std::string_view address = kDefaultAddress,
                                                   const InspectorOptions& options = {});
  // Showing nothing yet.
  static Result<std::unique_ptr<Inspector>> start(std::string_view address = kDefaultAddress,
                                                  const InspectorOptions& options = {});

  // What it shows: a server with its loops, or loops. A name is any text; without one a server is "server 0",
  // "server 1" and so on, as they were added. Two may have the same: their numbers tell them apart.
  void add(Server& server, std::string name = {});
  void add(HttpServer& server, std::string name = {});
  void add(CoServer& server, std::string name = {});
  // With the methods of its protocol: an RpcServer's, inspector.add(rpc.server(), "rpc", rpc.method_views()), or those
  // of a protocol of your own. `methods`: one for each loop of the server, in the order of Server::views(). Each is
  // called on its loop's thread, also after the server is gone, and must not throw. Loops are summed by the methods'
  // names; a method's latency has the same HistogramOptions on each.
  void add(Server& server, std::string name, std::vector<std::function<std::vector<MethodStats>()>> methods);
  void add(LoopGroup& group);
  void add(Loop& loop);
  // The stalls it found.
  void add(StallWatchdog& watchdog);
  // From the next page on it is not shown; a server with its loops, but for those that others have, or that were added
  // by themselves. What was not added is nothing to remove. Waits for the inspector's loop.
  void remove(Server& server);
  void remove(HttpServer& server);
  void remove(CoServer& server);
  void remove(LoopGroup& group);
  void remove(Loop& loop);
  void remove(StallWatchdog& watchdog);

  // As Server's. It listens on any number of addresses.
  Result<SocketAddress> listen(std::string_view address = kDefaultAddress);
  // The first one.
  const SocketAddress& address() const { return address_; }

 private:
  struct Core;

  template <class Task>
  void on_loop(Task&& task);

  std::unique_ptr<LoopGroup> own_loop_;
  std::shared_ptr<Core> core_;
  SocketAddress address_;
};

}  // namespace peal
