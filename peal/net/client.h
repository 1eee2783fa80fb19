// SPDX-License-Identifier: BSD-3-Clause
// Client: one connection to one address: connecting with a deadline, trying again with jittered back-off, and, if
// asked, connecting anew when the connection is lost.
//
// Every call from any thread; the callbacks run on the loop. A Client may be destroyed before or after its loop, while
// connecting, and from inside its own callbacks; after that no callback of it begins. Destroying it while the loop runs
// on another thread waits for that loop's current turn.
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

// The delays carry jitter (each is drawn from its upper half) and begin anew only after a connection that was open for
// `longest_delay`: a server that accepts and drops is tried ever more slowly, too.
struct RetryOptions {
  unsigned attempts = 1;                                  // that fail in a row; 0: without end
  Duration first_delay = std::chrono::milliseconds(100);  // before the second attempt; doubles from there
  Duration longest_delay = std::chrono::seconds(30);
  bool reconnect = false;  // also after a connection that was open is lost
  uint64_t seed = 0;       // of the jitter, for runs that are to be repeated; 0: Engine::random_seed
};

// Between the addresses of one name: RFC 8305, Happy Eyeballs. The first to connect wins, the others are closed.
struct RaceOptions {
  Duration attempt_delay = std::chrono::milliseconds(250);  // then the next address is tried as well (RFC 8305 8)
  unsigned most_at_once = 4;                                // 1: the next one only when one has failed
};

struct ClientOptions {
  // Of one attempt: the name's lookup and the race between its addresses. The attempt then fails: with
  // Trouble::kNoAnswer where the lookup has brought no address, with ETIMEDOUT while connections are under way, or with
  // the error of the last connection that failed.
  Duration connect_timeout = std::chrono::seconds(10);
  RetryOptions retry = {};
  RaceOptions race = {};
  Resolver* resolver = nullptr;  // of the same loop; must outlive the client. Null: the loop's own
  ConnectOptions connect = {};   // an empty host becomes the name connected to
  ConnectionOptions connection = {};
};

class Client {
 public:
  // Told of each attempt that failed, and when the next one comes; kNoRetry after the last.
  using ConnectFailed = Callback<void(std::error_code error, Duration next_attempt_in)>;
  static constexpr Duration kNoRetry = Duration::max();

  Client(Loop& loop, ConnectionCallbacks callbacks, const ClientOptions& options = {}, ConnectFailed on_failed = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Starts connecting; the loop need not run yet. The text is an address as SocketAddress::parse() reads it, or
  // "name:port"; a name is looked up anew for every attempt. What parse() says of any other text, EALREADY when
  // this client was started before and has not been stopped. "unix:" in front makes it a unix socket: a text that a
  // peer had a part in is a HostPort, see below.
  Result<void> connect(std::string_view address);
  Result<void> connect(const SocketAddress& address);
  // Where the host comes from a peer or a URL: it is never a unix socket.
  Result<void> connect(const HostPort& place);
  // Gives up connecting and reconnecting; an open connection ends gracefully.
  void stop();
  // Waits for the loop.
  NetStats stats() const;

 private:
  Result<void> start(const SocketAddress& address, const HostPort& name);

  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<detail::Connector> connector_;
};

}  // namespace peal
