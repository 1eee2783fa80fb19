// SPDX-License-Identifier: BSD-3-Clause
// Server: listens on an address and opens a Connection for each client, on one loop or on every loop of a group.
//
//   peal::Server server(loop, {.on_message = [](peal::Connection& connection, peal::Buffer& input) {
//     connection.send(std::move(input));
//   }});
//   auto listening = server.listen("127.0.0.1:9981");
//
// A Server is used by one thread at a time: before its loops run, or while they do. It may be destroyed before or after
// its loops and from inside its own callbacks; after that no callback of it begins. Destroying it while a loop runs on
// another thread waits for that loop's current turn, so a server of several loops is not destroyed on one of them.
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

// Who accepts, when there are several loops. With one loop all are the same.
enum class AcceptMode : uint8_t {
  kReusePort,    // every loop, each on a listener of its own; the kernel spreads clients by hash (SO_REUSEPORT)
  kRoundRobin,   // the first loop, handing over in turn: even for few, long connections
  kLeastLoaded,  // the first loop, handing over to whoever has the fewest connections
};

// What connections are told when a server ends in order.
enum class DrainMode : uint8_t {
  kAsk,   // on_drain, or close() as soon as nothing is under way
  kWait,  // on_drain if there is one, otherwise nothing: clients end their connections themselves, or the deadline does
};

struct ServerOptions {
  AcceptMode accept = AcceptMode::kReusePort;  // no hand-over, no shared queue: best for many connections
  ListenOptions listen = {};                   // reuse_port is decided by `accept`
  ConnectionOptions connection = {};
  // Connections open at once, on all loops together and of one client. That is an IPv4 address, also one mapped into
  // IPv6, or an IPv6 network (/64, since one client has all of it): SocketAddress::client_key(). All unix clients are
  // one. Over a cap the newcomer takes the place of whoever has been idle for longest (nothing queued, no unconsumed
  // input, not piped) among the connections of its loop, or of its client there; if nobody is idle, or nobody among the
  // 1,024 least recently active, the newcomer is closed at once. Who still shakes hands (ConnectionOptions::layer) is
  // idle. Never more than the cap have on_open behind and on_close before them. 0, the default: the process's limit of
  // fds, where accepting backs off.
  size_t max_connections = 0;
  size_t max_connections_per_address = 0;
};

// How whoever may outlive a Server still asks it something, from any thread (peal/inspect).
class ServerLife {
 public:
  explicit ServerLife(Server& server) : server_(&server) {}
  // Calls `task` with the server, whose destruction waits meanwhile: so it waits for none of the server's loops. False:
  // the server is gone, or going.
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
  Server(Loop& loop, ConnectionCallbacks callbacks, const ServerOptions& options = {});
  Server(LoopGroup& group, SharedConnectionCallbacks callbacks, const ServerOptions& options = {});
  // Stops listening; connections end at once, what the kernel has of their output still goes out; no on_close.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens on one more address, as SocketAddress::parse() reads it; port 0 lets the kernel choose. The answer is the
  // address bound. EADDRINUSE, EACCES, EADDRNOTAVAIL, EMFILE, what parse() says, Trouble::kLoopStopped.
  Result<SocketAddress> listen(std::string_view address);
  Result<SocketAddress> listen(const SocketAddress& address);
  // A socket that listens already: inherited from a master or a service manager. The first loop accepts, and hands over
  // as kRoundRobin or kLeastLoaded has it. `shared`: other processes accept from it too. As Engine::adopt_listener().
  Result<SocketAddress> listen(Fd listening, bool shared = false);
  // A connection that nobody is to accept any more: one end of a socketpair(2), what inetd or systemd has accepted
  // (connected_stream() makes it of an fd, peal/sync/adopt_stream.h), what Engine::detach() gave back. It is as one
  // that was accepted, on the loop with the fewest: on_open is called, in this call where that is the caller's. Any
  // thread. Trouble::kLoopStopped, also of a loop whose mailbox is full; then it is closed.
  Result<void> adopt(LooseStream stream);
  // Stops listening on every address; connections live on. Clients whose handshake was done are still served.
  void stop_listening();

  // Ends in order: stops listening, calls on_drain of every connection, or closes those without unconsumed input (the
  // others once they have none; a pipe is left to its ends), and cuts off what is still there after `deadline`, pipes
  // at both ends. Then, the on_done of those pipes being through, `on_done` is called, on one of the loops' threads;
  // once, also when a loop ends meanwhile, but not after the server is destroyed. Any thread, also again; connections
  // that still come in are closed; who shakes hands is waited for, and asked once it is open. The loops run, or have
  // ended.
  void drain(Duration deadline, Callback<void(const DrainReport&)> on_done) {
    drain(deadline, DrainMode::kAsk, std::move(on_done));
  }
  // The same in this mode. kWait is for who is succeeded by another that listens already.
  void drain(Duration deadline, DrainMode mode, Callback<void(const DrainReport&)> on_done);
  // The same, waiting for it. Not on a thread of one of the loops: asserts.
  DrainReport drain_and_wait(Duration deadline);

  // Connections open, being handed over or shaking hands, on all loops. Any thread.
  size_t connections() const;
  // The sum over all loops; waits for each. Not on a thread of one of several: two that ask at once wait for each other
  // for ever. views() are each loop's own.
  NetStats stats() const;
  // One for each loop.
  std::vector<ConnectionsView> views() const;
  const std::shared_ptr<ServerLife>& life() const { return life_; }

 private:
  struct Shard;

  void add_loop(Loop& loop, const std::shared_ptr<ConnectionCallbacks>& callbacks);
  Result<SocketAddress> listen_on(Shard& shard, const SocketAddress& address, bool reuse_port);
  // Has connections accepted that come to what `bind` makes on the shard's engine.
  Result<SocketAddress> accept_on(Shard& shard, bool for_itself, auto bind);
  Result<void> probe(const SocketAddress& address) const;
  std::vector<std::shared_ptr<detail::ConnectionSet>> all_sets() const;
  static void stop_last(Shard& shard);

  const ServerOptions options_;
  std::shared_ptr<detail::Admission> admission_;  // null: no caps
  std::vector<std::shared_ptr<Shard>> shards_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<detail::Drain>> drains_;  // guarded by the mutex
  const std::shared_ptr<ServerLife> life_ = std::make_shared<ServerLife>(*this);
};

}  // namespace peal
