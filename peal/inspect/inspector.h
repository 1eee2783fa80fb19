// SPDX-License-Identifier: BSD-3-Clause
// Inspector: a live page about this process: its loops, servers, connections, stalls, threads and memory, and the
// metrics that the program has declared (peal/observe/metrics.h). The same figures are served as JSON and as text for
// Prometheus. docs/inspector.md explains each figure.
//
//   auto attached = peal::Inspector::attach(server, "127.0.0.1:9990");     // in one line
//
//   peal::Inspector inspector(loop);                                       // the same in several steps
//   inspector.add(server, "front");                                        // the name in page, JSON and metrics
//   inspector.add(group);
//   inspector.listen("127.0.0.1:9990");
//
// Cost: once a second, the inspector asks each loop for its figures, so that the page can show the last ten minutes.
// This visits no connection. More is collected only when a client asks for it. Each loop that is shown reads the clock
// twice a turn, unless measure_turns is false. attach() gives the inspector a loop and a thread of its own, so that it
// answers even if all other loops hang. A loop that does not answer in time is shown as stalled, with the figures of
// its last answer.
//
// Access: any client that can reach the inspector's address may read the pages. The default address can be reached from
// this machine only. The actions are: set the log level, drain a server, end a connection. Without a token, only
// clients on this machine may act. With a token, clients anywhere may act if they send it. In both cases a client may
// act from anywhere if InspectorOptions::layer has verified its certificate.
//
// Threads and lifetimes: an Inspector may be used by one thread at a time, before the loops run or while they run. A
// server that is destroyed disappears from the pages, and a loop that has ended is shown as ended; remove() is needed
// only to stop showing them earlier. A StallWatchdog must outlive the inspector or be removed.
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
  // The name that attach() gives its server, for example "api". If empty, the name is "server 0".
  std::string name = {};
  // The token that a client must send in order to change something, for example to close a connection. The client sends
  // the field `Authorization: Bearer TOKEN`. If empty, no token is needed, but only clients on this machine may act,
  // and not through a proxy. A client whose certificate was verified may act without the token from anywhere; see
  // `layer`.
  //
  // A proxy is recognized by the fields that it adds to a request: Forwarded, Via, X-Real-IP, or X-Forwarded-For,
  // -Host, -Proto or -Server. A proxy that adds none of them looks like a client on this machine, so set a token if a
  // proxy is in front.
  std::string token = {};
  // Host names by which clients reach the page. Clients may also use localhost and IP addresses. A request for any
  // other name is refused, because a web site could have caused a browser to send it (DNS rebinding).
  std::vector<std::string> hosts = {};
  // The layer under HTTP, such as TLS, for pages at https. The layer must outlive the inspector. Null means plain HTTP.
  //   - A client whose certificate the layer has verified may act from anywhere and without the token, but not through
  //     a proxy that adds one of the fields listed at `token`.
  //   - If the layer requires certificates, clients without one cannot read the pages either.
  const StreamLayer* layer = nullptr;
  // How long a page waits for the figures of a loop. The default is longer than a turn of a healthy loop, and short for
  // a user who waits for the page.
  Duration reply_timeout = std::chrono::milliseconds(250);
  // The most connections that a page shows, unless its query says otherwise. /json has as many of each server on each
  // loop. The connections with the most queued bytes are shown first. Each shown connection costs a few system calls.
  size_t most_connections = 100;
  // True if the inspector keeps the figures of the last ten minutes, which the page shows as graphs. They are collected
  // once a second, while the inspector's loop runs. Each loop, server and method that is shown takes about 40 KiB, and
  // so does each histogram of the program, for the first 200 metrics.
  bool keep_history = true;
  // True if the turns of the shown loops are timed. The inspector can then show how busy each loop is and how long its
  // turns are.
  bool measure_turns = true;
  // True if the routes of the HTTP servers that are added are measured, and their slowest requests kept
  // (HttpServer::measure_routes()). The inspector then has a page for each route. The cost is at most 40 instructions a
  // request.
  bool measure_routes = true;
  // Called on the inspector's loop when a client asks to drain a server. If on_drain is empty, the inspector drains the
  // server, and connections that have not ended in 30 s are cut off.
  //
  // An empty on_drain refuses the request (409) if the parent process holds the listening sockets open as well. If it
  // drained, new clients would wait in a queue from which no process accepts. In a Master's worker, make the worker
  // leave instead:
  //
  //   options.on_drain = [&](peal::Server& server) {
  //     loop.post([&] { worker.leave(peal::Leave::kDrain, loop, server); });
  //   };
  CopyableCallback<void(Server&)> on_drain = {};
};

class Inspector {
 public:
  static constexpr std::string_view kDefaultAddress = "127.0.0.1:9990";

  // Makes an inspector that runs on `loop` and does not listen yet. Either the loop outlives the inspector, or the
  // loop's run() must have returned before the inspector is destroyed.
  explicit Inspector(Loop& loop, const InspectorOptions& options = {});
  ~Inspector();
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  // Makes an inspector with a thread of its own that shows `server` and listens at `address`. Fails as listen() and
  // LoopGroup::start() do.
  static Result<std::unique_ptr<Inspector>> attach(Server& server, std::string_view address = kDefaultAddress,
                                                   const InspectorOptions& options = {});
  static Result<std::unique_ptr<Inspector>> attach(HttpServer& server, std::string_view address = kDefaultAddress,
                                                   const InspectorOptions& options = {});
  // Makes an inspector with a thread of its own that listens at `address` and shows no server yet. Fails as attach()
  // does.
  static Result<std::unique_ptr<Inspector>> start(std::string_view address = kDefaultAddress,
                                                  const InspectorOptions& options = {});

  // Shows a server and its loops. A name may be any text. A server without a name is called "server 0", "server 1" and
  // so on, in the order of the calls. Two servers may have the same name; their numbers differ.
  void add(Server& server, std::string name = {});
  void add(HttpServer& server, std::string name = {});
  void add(CoServer& server, std::string name = {});

  // Shows a server, and how the methods of its protocol were called.
  //
  //   inspector.add(rpc.server(), "rpc", rpc.method_views());    // an RpcServer
  //
  // `methods` has one function for each loop of the server, in the order of Server::views(). Each function is called on
  // its loop's thread, possibly after the server was destroyed, and must not throw. Methods of the same name are summed
  // over the loops, so their latency must have the same HistogramOptions on each loop.
  void add(Server& server, std::string name, std::vector<std::function<std::vector<MethodStats>()>> methods);

  // Shows all loops of `group`, or one loop. A loop that a shown server uses is shown anyway.
  void add(LoopGroup& group);
  void add(Loop& loop);

  // Shows the stalls that `watchdog` has found. The watchdog must outlive the inspector or be removed.
  void add(StallWatchdog& watchdog);

  // Stops showing the argument, from the next page on. A server is removed together with its loops, except loops that
  // another server uses or that were added themselves. Does nothing if the argument was not added. Blocks until the
  // inspector's loop has removed the argument.
  void remove(Server& server);
  void remove(HttpServer& server);
  void remove(CoServer& server);
  void remove(LoopGroup& group);
  void remove(Loop& loop);
  void remove(StallWatchdog& watchdog);

  // Listens at one more address. Returns the bound address. Fails as Server::listen() does.
  Result<SocketAddress> listen(std::string_view address = kDefaultAddress);
  // Returns the address at which the first call of listen() listens.
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
