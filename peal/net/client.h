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

// How often and how fast a Client retries. The delay before an attempt is random: at most d, and at least half of d.
// The value d starts at `first_delay` and doubles with each attempt, up to `longest_delay`. When an open connection is
// lost, d returns to `first_delay` only if that connection was open for at least `longest_delay`. So the delays also
// grow if a server accepts each connection and soon drops it.
struct RetryOptions {
  unsigned attempts = 1;                                  // give up after so many failures in a row; 0: never
  Duration first_delay = std::chrono::milliseconds(100);  // d before the second attempt
  Duration longest_delay = std::chrono::seconds(30);
  bool reconnect = false;  // true: connect again when an open connection was lost
  uint64_t seed = 0;       // seed of the jitter, for repeatable runs; 0: Engine::random_seed()
};

// How a Client tries the addresses of one name (RFC 8305, Happy Eyeballs). The first connection that opens is used; the
// other connections are closed.
struct RaceOptions {
  Duration attempt_delay = std::chrono::milliseconds(250);  // after it, try the next address too (RFC 8305 8)
  unsigned most_at_once = 4;                                // 1: try the next address only after one has failed
};

struct ClientOptions {
  // Limits one attempt: the lookup of the name and the race between its addresses. An attempt that runs out of time
  // fails with
  // - Trouble::kNoAnswer if the lookup has not found any address,
  // - ETIMEDOUT if a connection is still being tried,
  // - the error of the last connection that failed, in all other cases.
  Duration connect_timeout = std::chrono::seconds(10);

  RetryOptions retry = {};
  RaceOptions race = {};
  // The resolver that looks up names. It must belong to the client's loop and outlive the client. Null means the
  // resolver that all clients of the loop share.
  Resolver* resolver = nullptr;
  // Options of the socket. If connect.host is empty, it is set to the name that Client::connect() is called with.
  ConnectOptions connect = {};
  ConnectionOptions connection = {};
};

class Client {
 public:
  // Called after each attempt that failed. `next_attempt_in` is kNoRetry after the last attempt.
  using ConnectFailed = Callback<void(std::error_code error, Duration next_attempt_in)>;
  static constexpr Duration kNoRetry = Duration::max();

  // `on_failed` is called on the loop after each failed attempt. It may be unset.
  Client(Loop& loop, ConnectionCallbacks callbacks, const ClientOptions& options = {}, ConnectFailed on_failed = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Starts connecting to `address`, which is "name:port" or a text that SocketAddress::parse() can read. The name is
  // looked up anew for every attempt. May be called before the loop runs. Errors:
  // - the error of parse(), if `address` has neither form,
  // - EALREADY, if the client was started and has not been stopped,
  // - Trouble::kLoopStopped, if the loop has ended.
  //
  // A text that begins with "unix:" names a unix socket. If a peer may have chosen the text, pass a HostPort instead.
  Result<void> connect(std::string_view address);
  Result<void> connect(const SocketAddress& address);
  // Connects to a host whose name came from a peer or a URL. Unlike a text, a HostPort never names a unix socket.
  Result<void> connect(const HostPort& place);
  // Gives up connecting and reconnecting. An open connection is closed gracefully.
  void stop();
  // Returns the client's counters. If the loop runs on another thread, waits until the loop's current turn is over.
  NetStats stats() const;

 private:
  Result<void> start(const SocketAddress& address, const HostPort& name);

  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<detail::Connector> connector_;
};

}  // namespace peal
