// SPDX-License-Identifier: BSD-3-Clause
// Server: listens on an address and opens a Connection for each client, on one loop or on every loop of a group.
//
//   peal::Server server(loop, {.on_message = [](peal::Connection& connection, peal::Buffer& input) {
//     connection.send(std::move(input));
//   }});
//   auto listening = server.listen("127.0.0.1:9981");
//
// A Server is used by one thread at a time, before its loops run or while they do. It may be destroyed before or after
// its loops, and from inside its own callbacks. After that none of its callbacks begins. Destroying it while a loop
// runs on another thread waits for that loop's current turn. So a server of several loops must not be destroyed on one
// of them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/loop/loop.h>
#include <peal/loop/loop_group.h>
#include <peal/net/connection.h>
#include <peal/net/connections_view.h>
#include <peal/net/net_stats.h>

namespace peal {

class Server;
namespace detail {
class Acceptor;
class Admission;
class ConnectionSet;
class Drain;
}  // namespace detail

// Decides which loop accepts connections, and which loop serves them. With a single loop all modes are the same.
enum class AcceptMode : uint8_t {
  kReusePort,    // every loop has its own listener; the kernel spreads clients by hash (SO_REUSEPORT)
  kRoundRobin,   // the first loop accepts; the loops get connections in turn: best for few, long connections
  kLeastLoaded,  // the first loop accepts; the loop with the fewest connections gets each new one
};

// How drain() treats each open connection.
enum class DrainMode : uint8_t {
  kAsk,   // calls on_drain; if that is unset, closes the connection as soon as it has no work in progress
  kWait,  // calls on_drain; if that is unset, waits until the client ends the connection or the deadline passes
};

struct ServerOptions {
  // The default, kReusePort, is best for many connections: no connection is handed from one loop to another.
  AcceptMode accept = AcceptMode::kReusePort;
  // Options of the listening sockets. ListenOptions::reuse_port is ignored, because `accept` decides whether
  // SO_REUSEPORT is set.
  ListenOptions listen = {};
  ConnectionOptions connection = {};
  // Limits of the connections that are open at once. max_connections counts all connections of all loops, and
  // max_connections_per_address counts those of one client. A client is an IPv4 address (also one mapped into IPv6) or
  // an IPv6 /64 network, since one client has all of such a network: SocketAddress::client_key(). All unix clients
  // count as one.
  //
  // If a limit is reached, a new connection replaces an old one: the server closes the connection on the same loop that
  // has been idle for longest. At the limit of one client, only a connection of that client is closed. A connection is
  // idle if it has no queued output, no unconsumed input and no work in progress, and is not piped. A connection in its
  // handshake (ConnectionOptions::layer) counts as idle too. If none of the 1,024 least recently active connections is
  // idle, the new connection is closed at once.
  //
  // The limits are exact: on_open of a new connection is called only after on_close of the connection that it replaces.
  // 0 (the default) means no limit. When the process has no fd left, accepting backs off.
  size_t max_connections = 0;
  size_t max_connections_per_address = 0;
};

// ServerLife lets objects that may outlive a Server call that Server from any thread (peal/inspect).
class ServerLife {
 public:
  explicit ServerLife(Server& server) : server_(&server) {}
  // Calls `task` with the server. The server's destructor waits until `task` has returned, so `task` must not wait for
  // one of the server's loops. Returns false, without calling `task`, if the server was destroyed or is being
  // destroyed.
  template <class Task>
  bool run(Task&& task) {
    const std::lock_guard lock(mutex_);
    if (server_ != nullptr) task(*server_);
    return server_ != nullptr;
  }

 private:
  friend class Server;
  void end() {
    run([this](Server&) { server_ = nullptr; });
  }

  std::recursive_mutex mutex_;  // recursive, because a task may destroy the server
  Server* server_;
};

class Server {
 public:
  // Creates a server that serves on one loop, or on all loops of a group.
  Server(Loop& loop, ConnectionCallbacks callbacks, const ServerOptions& options = {});
  Server(LoopGroup& group, SharedConnectionCallbacks callbacks, const ServerOptions& options = {});
  // Stops listening and ends all connections at once. Output that the kernel has already taken is still sent. on_close
  // is not called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens on one more address. `address` is a text that SocketAddress::parse() can read. If the port is 0, the kernel
  // chooses one. Returns the address that was bound. Errors: EADDRINUSE, EACCES, EADDRNOTAVAIL, EMFILE, an error of
  // parse(), Trouble::kLoopStopped.
  Result<SocketAddress> listen(std::string_view address);
  Result<SocketAddress> listen(const SocketAddress& address);
  // Accepts from a socket that listens already, inherited from a master process or a service manager. The first loop
  // accepts. In mode kLeastLoaded, the loop with the fewest connections gets each new connection. In the other modes,
  // the loops get the connections in turn. `shared` must be true if other processes accept from the socket too. Errors
  // are those of Engine::adopt_listener() and Trouble::kLoopStopped.
  Result<SocketAddress> listen(Fd listening, bool shared = false);
  // Serves a stream that is connected already, as if it had been accepted. Such a stream is
  // - one end of a socketpair(2), or a connection that inetd or systemd has accepted; connected_stream()
  //   (peal/sync/adopt_stream.h) makes a stream of an fd,
  // - or what Engine::detach() returned.
  //
  // The loop with the fewest connections gets the stream. If the caller is on that loop's thread, on_open is called
  // inside this call. May be called on any thread. If a loop of the server has ended or the chosen loop's mailbox is
  // full, closes the stream and returns Trouble::kLoopStopped.
  Result<void> adopt(LooseStream stream);
  // Stops listening on every address. Open connections stay open. Clients whose TCP handshake was finished before are
  // still served.
  void stop_listening();

  // Ends all connections within `deadline`, without cutting off work that is finished in time:
  // - The server stops listening. Connections that still come in are closed.
  // - on_drain is called for every connection; for a connection in its handshake, it is called after the connection has
  //   opened. If on_drain is unset, a connection is closed once it has no unconsumed input, and a pipe is left to end
  //   by itself.
  // - The connections that are still open at `deadline` are reset, also both connections of a pipe.
  // - Then `on_done` is called once, on the thread of one of the loops, after the on_done of the pipes that were cut
  //   off. `on_done` is also called if a loop ends before the drain is over, but not after the server was destroyed.
  //
  // May be called on any thread, and more than once. The loops must be running or have ended.
  void drain(Duration deadline, Callback<void(const DrainReport&)> on_done) {
    drain(deadline, DrainMode::kAsk, std::move(on_done));
  }
  // Drains in mode `mode` instead of kAsk. Use kWait if another process that replaces this server listens already.
  void drain(Duration deadline, DrainMode mode, Callback<void(const DrainReport&)> on_done);
  // Drains in mode kAsk, and returns the report when the drain is over. Asserts that it is not called on the thread of
  // one of the loops.
  DrainReport drain_and_wait(Duration deadline);
  // Returns whether drain() or drain_and_wait() has been called. May be called on any thread.
  bool draining() const { return draining_.load(std::memory_order_relaxed); }

  // Returns how many connections of all loops are open, in their handshake, or on their way to a loop. May be called on
  // any thread.
  size_t connections() const;
  // Returns the sum of the counters of all loops, and waits for each loop in turn. If there are several loops, do not
  // call stats() on the thread of one of these loops: two such calls at once would wait for each other for ever. On
  // those threads, use views() instead.
  NetStats stats() const;
  // Returns one view of the connections for each loop.
  std::vector<ConnectionsView> views() const;
  // Returns an object through which other threads may call this server. They may keep the object longer than the server
  // exists.
  const std::shared_ptr<ServerLife>& life() const { return life_; }

 private:
  struct Shard;

  void add_loop(Loop& loop, const std::shared_ptr<ConnectionCallbacks>& callbacks);
  Result<SocketAddress> listen_on(Shard& shard, const SocketAddress& address, bool reuse_port);
  // Starts accepting on the listener that `bind` creates in the shard's engine. If `for_itself` is true, this shard
  // serves the connections that it accepts; otherwise all shards do.
  Result<SocketAddress> accept_on(Shard& shard, bool for_itself, auto bind);
  Result<void> probe(const SocketAddress& address) const;
  std::vector<std::shared_ptr<detail::ConnectionSet>> all_sets() const;
  static void stop_last(Shard& shard);

  const ServerOptions options_;
  std::shared_ptr<detail::Admission> admission_;  // null if the options set no limit of connections
  std::vector<std::shared_ptr<Shard>> shards_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<detail::Drain>> drains_;  // guarded by the mutex
  std::atomic<bool> draining_ = false;
  const std::shared_ptr<ServerLife> life_ = std::make_shared<ServerLife>(*this);
};

}  // namespace peal
