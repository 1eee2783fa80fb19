// SPDX-License-Identifier: BSD-3-Clause
// Resolver: names to addresses by DNS and /etc/hosts (c-ares), without ever blocking the loop; on an engine with a
// network of its own, by its table of names (Engine::names).
//
// It belongs to its loop and is used where the loop may be touched: on its thread, or before it runs. The user owns it,
// and may share it among the clients of the loop (ClientOptions::resolver). It may be destroyed with lookups pending,
// from inside an answer, before or after its loop, on any thread (while the loop runs elsewhere that waits for the
// loop's current turn); after that no answer begins. A loop that ends drops its lookups unanswered. Nothing is cached:
// that is the business of the machine's own name server.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>
#include <peal/loop/loop.h>

namespace peal {

namespace detail {
class ResolverChannel;
}

struct ResolverOptions {
  std::string servers = {};  // "127.0.0.1:5353,[::1]:53"; empty: those of /etc/resolv.conf
  Duration try_timeout =
      std::chrono::seconds(2);  // of the first try at a server, 1 ms to 10 min; further ones wait longer
  int tries = 3;                // at each server
  size_t most_pending = 1024;   // what c-ares still has of detached lookups counts too
};

struct ResolveOptions {
  Duration timeout = std::chrono::seconds(10);  // then Trouble::kNoAnswer
};

// Plain counters; read where the resolver is used.
struct ResolverStats {
  uint64_t lookups = 0;    // taken
  uint64_t answered = 0;   // with addresses
  uint64_t failed = 0;     // with an error, timeouts included
  uint64_t timeouts = 0;   // by ResolveOptions::timeout
  uint64_t cancelled = 0;  // by cancel()
  uint64_t refused = 0;    // most_pending
};

// Names one lookup; never given out twice.
enum class ResolveId : uint64_t { kNone = 0 };

// "example.org:80" in its two parts. Trouble::kBadAddress unless is_host_name(host); kNoPort, kBadPort.
struct HostPort {
  static Result<HostPort> parse(std::string_view text);
  std::string host;
  uint16_t port = 0;
};

class Resolver {
 public:
  using Addresses = std::vector<SocketAddress>;  // never empty; best first (RFC 6724), all with the port asked for
  using Answer = Callback<void(Result<Addresses>)>;

  explicit Resolver(Loop& loop, const ResolverOptions& options = {});
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Looks up a name (RFC 1123 2.1: letters, digits, hyphens, also '_'; at most 253 bytes), an IP address with or
  // without brackets, or "unix:/path", for which `port` means nothing. `on_answer` comes once, from the loop, never
  // inside this call: with addresses, Trouble::kHostNotFound, kNoAnswer, kNameServerFailed, or an errno. When the call
  // itself fails it never comes: Trouble::kBadAddress, kPathTooLong, kTooManyLookups, kLoopStopped.
  Result<ResolveId> resolve(std::string_view host, uint16_t port, const ResolveOptions& options, Answer on_answer);
  // True if it was pending: its answer will never come and is destroyed now. c-ares cannot take one question back:
  // what it still does for it is dropped when it ends, or with the last lookup pending.
  bool cancel(ResolveId id);

  size_t pending() const { return lookups_.size(); }
  const ResolverStats& stats() const { return stats_; }

 private:
  struct Lookup {
    std::string host;
    uint16_t port = 0;
    SocketAddress literal;  // set: there is nothing to ask
    TimePoint deadline;
    Answer on_answer;
    TimerId timer;  // its beginning, then its deadline, then its end
  };

  void start(ResolveId id);
  void ask(ResolveId id, Lookup& lookup);
  void arrived(ResolveId id, Result<Addresses> addresses);
  void finish(ResolveId id, Result<Addresses> addresses);
  void drop_detached();

  Loop* const loop_;  // good where mailbox_ says it can be reached
  const std::shared_ptr<Mailbox> mailbox_;
  const ResolverOptions options_;
  std::map<ResolveId, Lookup> lookups_;
  std::unique_ptr<detail::ResolverChannel> channel_;  // from the first question on
  uint64_t last_id_ = 0;
  ResolverStats stats_;
};

}  // namespace peal
