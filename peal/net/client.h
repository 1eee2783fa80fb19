// SPDX-License-Identifier: BSD-3-Clause
// Client: keeps one connection to one address. A Client connects within a deadline, retries with jittered back-off and,
// if asked, reconnects when the connection is lost.
//
// All functions may be called on any thread; the callbacks are called on the loop. A Client may be destroyed before or
// after its loop, while connecting, and from inside its own callbacks. After that none of its callbacks begins.
// Destroying it on another thread while the loop runs waits for the loop's current turn.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <system_error>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/engine/engine.h>
#include <peal/loop/loop.h>
#include <peal/net/connection.h>
#include <peal/net/host_port.h>
#include <peal/net/net_stats.h>

namespace peal {

class Resolver;
namespace detail {
class Connector;
}

// How often and how fast a Client retries. The bound of the delay doubles with each attempt; the delay is drawn at
// random between half of the bound and all of it. The bound starts anew only after a connection that was open for
// `longest_delay`. So a server that accepts and drops is tried ever more slowly, too.
struct RetryOptions {
  unsigned attempts = 1;                                  // stop after so many failures in a row; 0: never stop
  Duration first_delay = std::chrono::milliseconds(100);  // before the second attempt
  Duration longest_delay = std::chrono::seconds(30);
  bool reconnect = false;  // also when a connection that was open is lost
  uint64_t seed = 0;       // seed of the jitter, for repeatable runs; 0: Engine::random_seed()
};

// How the addresses of one name are tried: RFC 8305, Happy Eyeballs. The first connection that opens wins; the others
// are closed.
struct RaceOptions {
  Duration attempt_delay = std::chrono::milliseconds(250);  // after that, try the next address too (RFC 8305 8)
  unsigned most_at_once = 4;                                // 1: try the next address only after one has failed
};

struct ClientOptions {
  // Limits one attempt: the lookup of the name and the race between its addresses. An attempt that runs out of time
  // fails with
  // - Trouble::kNoAnswer if the lookup has brought no address,
  // - ETIMEDOUT if a connection is still being tried,
  // - the error of the last connection that failed otherwise.
  Duration connect_timeout = std::chrono::seconds(10);

  RetryOptions retry = {};
  RaceOptions race = {};
  // Looks up names. Must belong to the same loop and outlive the client. Null means the resolver that the loop's
  // clients share.
  Resolver* resolver = nullptr;
  // Options of the socket. If connect.host is empty, it becomes the name that connect() is given.
  ConnectOptions connect = {};
  ConnectionOptions connection = {};
};

class Client {
 public:
  // Called after each attempt that failed. `next_attempt_in` is kNoRetry after the last attempt.
  using ConnectFailed = Callback<void(std::error_code error, Duration next_attempt_in)>;
  static constexpr Duration kNoRetry = Duration::max();

  // `on_failed` may be unset; it is called on the loop.
  Client(Loop& loop, ConnectionCallbacks callbacks, const ClientOptions& options = {}, ConnectFailed on_failed = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Starts connecting. May be called before the loop runs. `address` is what SocketAddress::parse() reads, or
  // "name:port"; the name is looked up anew for every attempt. For any other text, returns parse()'s error. Returns
  // EALREADY if the client was started and has not been stopped, Trouble::kLoopStopped if the loop has ended.
  //
  // "unix:" in front of `address` means a unix socket. So use a HostPort for text that a peer had a part in.
  Result<void> connect(std::string_view address);
  Result<void> connect(const SocketAddress& address);
  // Connects to a host that came from a peer or a URL: a HostPort never means a unix socket.
  Result<void> connect(const HostPort& place);
  // Gives up connecting and reconnecting. An open connection is closed gracefully.
  void stop();
  // Returns the counters. Waits for the loop's current turn if the loop runs on another thread.
  NetStats stats() const;

 private:
  Result<void> start(const SocketAddress& address, const HostPort& name);

  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<detail::Connector> connector_;
};

}  // namespace peal
