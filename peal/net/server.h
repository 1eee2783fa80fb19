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
  kRoundRobin,   // the first loop accepts and hands over in turn: even for few, long connections
  kLeastLoaded,  // the first loop accepts and hands over to the loop with the fewest connections
};

// How drain() treats each open connection.
enum class DrainMode : uint8_t {
  kAsk,   // calls on_drain; without it, closes the connection as soon as it has no work in progress
  kWait,  // calls on_drain; without it, waits for the client to end the connection, or for the deadline
};

struct ServerOptions {
  // The default needs no hand-over and no shared queue: best for many connections.
  AcceptMode accept = AcceptMode::kReusePort;
  // Options of the listening sockets. reuse_port is ignored; `accept` decides it.
  ListenOptions listen = {};
  ConnectionOptions connection = {};
  // Limit the connections open at once: those of all loops together, and those of one client. A client is an IPv4
  // address (also one mapped into IPv6) or an IPv6 /64 network, since one client has all of it:
  // SocketAddress::client_key(). All unix clients count as one.
  //
  // If a limit is reached, a newcomer replaces the connection of its loop that has been idle for longest. If it is the
  // limit of one client, only connections of that client are replaced. Idle means no queued output, no unconsumed input
  // and not piped; a connection in its handshake (ConnectionOptions::layer) counts as idle too. If no idle one is among
  // the 1,024 least recently active, the newcomer is closed at once.
  //
  // The limit is exact: a newcomer's on_open is called only after on_close of the connection that it replaces. 0 (the
  // default) means no limit but the process's limit of fds, at which accepting backs off.
  size_t max_connections = 0;
  size_t max_connections_per_address = 0;
};

// ServerLife: lets objects that may outlive a Server call it, from any thread (peal/inspect).
class ServerLife {
 public:
  explicit ServerLife(Server& server) : server_(&server) {}
  // Calls `task` with the server. The server's destructor waits for `task`, so `task` must not wait for one of the
  // server's loops. Returns false, without a call, if the server was destroyed or is being destroyed.
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

  std::recursive_mutex mutex_;  // a task may destroy the server
  Server* server_;
};

class Server {
 public:
  // Serves on one loop, or on all loops of a group.
  Server(Loop& loop, ConnectionCallbacks callbacks, const ServerOptions& options = {});
  Server(LoopGroup& group, SharedConnectionCallbacks callbacks, const ServerOptions& options = {});
  // Stops listening and ends all connections at once. Output that the kernel has already taken is still sent. on_close
  // is not called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens on one more address. `address` is read by SocketAddress::parse(); with port 0 the kernel chooses a port.
  // Returns the address that was bound, or EADDRINUSE, EACCES, EADDRNOTAVAIL, EMFILE, an error of parse(), or
  // Trouble::kLoopStopped.
  Result<SocketAddress> listen(std::string_view address);
  Result<SocketAddress> listen(const SocketAddress& address);
  // Accepts from a socket that listens already, inherited from a master or a service manager. The first loop accepts;
  // it hands over as kLeastLoaded does in that mode, else in turn. `shared` tells that other processes accept from it
  // too. Errors are those of Engine::adopt_listener() and Trouble::kLoopStopped.
  Result<SocketAddress> listen(Fd listening, bool shared = false);
  // Serves a stream that is connected already, as if it had been accepted:
  // - one end of a socketpair(2), or what inetd or systemd has accepted; connected_stream() (peal/sync/adopt_stream.h)
  //   makes a stream of an fd,
  // - what Engine::detach() gave back.
  //
  // The loop with the fewest connections gets the stream; on_open is called inside this call if that is the caller's
  // loop. Any thread. Returns Trouble::kLoopStopped, and closes the stream, if a loop of the server has ended or that
  // loop's mailbox is full.
  Result<void> adopt(LooseStream stream);
  // Stops listening on every address. Open connections live on, and clients whose TCP handshake was done are still
  // served.
  void stop_listening();

  // Ends all connections in order, within `deadline`:
  // - The server stops listening. Connections that still come in are closed.
  // - on_drain is called for every connection. Without on_drain, a connection is closed once it has no unconsumed
  //   input; a pipe is left to end by itself. A connection in its handshake is asked after it has opened.
  // - At `deadline` the connections that are left are reset, pipes at both ends.
  // - Then `on_done` is called once, on the thread of one of the loops, after the on_done of the pipes that were cut.
  //   It is also called if a loop ends meanwhile, but not after the server was destroyed.
  //
  // May be called on any thread, and again. The loops must be running or have ended.
  void drain(Duration deadline, Callback<void(const DrainReport&)> on_done) {
    drain(deadline, DrainMode::kAsk, std::move(on_done));
  }
  // Drains in the given mode. kWait is for a server whose successor listens already.
  void drain(Duration deadline, DrainMode mode, Callback<void(const DrainReport&)> on_done);
  // Drains in mode kAsk and waits for the report. Asserts that it is not called on the thread of one of the loops.
  DrainReport drain_and_wait(Duration deadline);

  // Returns how many connections are open, being handed over or in their handshake, on all loops. Any thread.
  size_t connections() const;
  // Returns the sum over all loops, and waits for each loop in turn. With several loops, do not call it on the thread
  // of one of them: two such calls at once would wait for each other for ever. Use views() there.
  NetStats stats() const;
  // Returns one view for each loop.
  std::vector<ConnectionsView> views() const;
  // Returns an object by which other threads may call this server, also when it may have been destroyed.
  const std::shared_ptr<ServerLife>& life() const { return life_; }

 private:
  struct Shard;

  void add_loop(Loop& loop, const std::shared_ptr<ConnectionCallbacks>& callbacks);
  Result<SocketAddress> listen_on(Shard& shard, const SocketAddress& address, bool reuse_port);
  // Starts accepting on the listener that `bind` makes of the shard's engine. If `for_itself` is true, this shard
  // serves what it accepts; otherwise all shards do.
  Result<SocketAddress> accept_on(Shard& shard, bool for_itself, auto bind);
  Result<void> probe(const SocketAddress& address) const;
  std::vector<std::shared_ptr<detail::ConnectionSet>> all_sets() const;
  static void stop_last(Shard& shard);

  const ServerOptions options_;
  std::shared_ptr<detail::Admission> admission_;  // null if there are no caps
  std::vector<std::shared_ptr<Shard>> shards_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<detail::Drain>> drains_;  // guarded by the mutex
  const std::shared_ptr<ServerLife> life_ = std::make_shared<ServerLife>(*this);
};

}  // namespace peal
