// SPDX-License-Identifier: BSD-3-Clause
// Resolver: names to addresses by DNS and /etc/hosts (c-ares), without ever blocking the loop; on an engine with a
// network of its own, by its table of names (Engine::names).
//
// It belongs to its loop and is used where the loop may be touched: on its thread, or before it runs. The user owns it,
// and may share it among the clients of the loop (ClientOptions::resolver); clients without one share the loop's own.
// It may be destroyed with lookups pending, from inside an answer, before or after its loop, on any thread (while the
// loop runs elsewhere that waits for the loop's current turn); after that no answer begins. A loop that ends drops its
// lookups unanswered. Nothing is cached: that is the business of the machine's own name server.
//
// A name's IPv4 and IPv6 addresses are two questions (A and AAAA), and the answer to one may be late or lost. A lookup
// needs one of them: once it has addresses it waits a moment for the other (RFC 8305 3). It fails when neither has any:
// with kHostNotFound where both say so, and otherwise with what kept it from knowing. /etc/hosts is read with every
// lookup and goes first, then DNS: nsswitch.conf(5) is not asked. "localhost" and the names in that domain are the
// loopback (RFC 6761 6.3).
//
// Of many lookups at once 64 are new to the name server, and the others wait in line: a burst would overflow the
// buffers of its answers. A name that has no answer within a twentieth of try_timeout makes room for the next one. What
// fails for one name, a TCP connection for its long answer say, touches no other name. While more than 32 long answers
// are awaited over TCP, those that take longer than a tenth of try_timeout are given up: kNoAnswer.
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
#include <peal/net/host_port.h>

namespace peal {

namespace detail {
class ResolverChannel;
}

struct ResolverOptions {
  std::string servers = {};  // "127.0.0.1:5353,[::1]:53"; empty: those of resolv_conf
  // Name servers, search list and options (resolv.conf(5)). A lookup sees to it, at most once a second, that the file
  // is still the one that was read. Once it has changed, lookups that begin go by the new one. What is missing is being
  // replaced: the old one counts.
  std::string resolv_conf = "/etc/resolv.conf";
  Duration try_timeout = std::chrono::seconds(2);  // of the first try, 1 ms to 10 min; further ones wait longer
  int tries = 3;               // at each server; one over TCP, for an answer that does not fit a datagram
  size_t most_pending = 1024;  // what c-ares still has of detached lookups counts too
};

struct ResolveOptions {
  Duration timeout = std::chrono::seconds(10);  // then Trouble::kNoAnswer, unless there are addresses
  // How long a lookup that has addresses of one family waits for the other's (RFC 8305 3, Resolution Delay).
  // Duration::max(): until both are known, or `timeout`.
  Duration other_family_wait = std::chrono::milliseconds(50);
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

class Resolver {
 public:
  using Addresses = std::vector<SocketAddress>;  // best first (RFC 6724), all with the port asked for
  using Answer = Callback<void(Result<Addresses>)>;
  using Part = Callback<void(Result<Addresses>, bool more)>;

  explicit Resolver(Loop& loop, const ResolverOptions& options = {});
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Looks up a name (RFC 1123 2.1: letters, digits, hyphens, also '_'; at most 253 bytes), or an IP address with or
  // without brackets. The host may come from a peer: no text names a unix socket. `on_answer` comes once, from the
  // loop, never inside this call: with addresses, one at least, of both families or of the one that was in time;
  // Trouble::kHostNotFound, kNoAnswer, kNameServerFailed, or an errno. When the call itself fails it never comes:
  // Trouble::kBadAddress, kTooManyLookups, kLoopStopped.
  Result<ResolveId> resolve(std::string_view host, uint16_t port, const ResolveOptions& options, Answer on_answer);
  // The same for who can begin with some of the addresses: IPv6 ones are told at once, IPv4 ones as soon as the other
  // question is over or other_family_wait has passed (RFC 8305 3). Called once, or twice when `more` is true; the
  // second time with what came later, nothing perhaps. An error comes alone.
  Result<ResolveId> resolve_in_parts(std::string_view host, uint16_t port, const ResolveOptions& options, Part on_part);
  // True if it was pending: its answer will never come and is destroyed now. c-ares cannot take back what it has asked
  // over UDP: what it still does for it is dropped when it ends, or with the last lookup pending.
  bool cancel(ResolveId id);

  size_t pending() const { return lookups_.size(); }
  const ResolverStats& stats() const { return stats_; }

 private:
  struct Lookup {
    std::string host;
    uint16_t port = 0;
    SocketAddress literal;  // set: there is nothing to ask
    TimePoint deadline;
    Duration other_family_wait{};
    bool in_parts = false;
    std::shared_ptr<Part> on_part;  // shared with the call that may end the lookup
    TimerId timer;                  // its beginning, then its deadline
    TimerId answer_timer;           // when it tells what it has
    Addresses undelivered;
    bool delivered_some = false;                 // some, and more was promised
    bool more = true;                            // a question is open
    std::error_code error = Trouble::kNoAnswer;  // where there are no addresses
  };

  Result<ResolveId> take(std::string_view host, uint16_t port, const ResolveOptions& options, bool in_parts,
                         Part on_part);
  void start(ResolveId id);
  void ask(ResolveId id, Lookup& lookup);
  Result<detail::ResolverChannel*> channel();
  void arrived(ResolveId id, Result<Addresses> addresses, bool more);
  void deliver_answer(ResolveId id);
  void finish(ResolveId id);
  void drop_detached(ResolveId id);
  size_t questions() const;

  Loop* const loop_;  // good where mailbox_ says it can be reached
  const std::shared_ptr<Mailbox> mailbox_;
  const ResolverOptions options_;
  std::map<ResolveId, Lookup> lookups_;
  // The one that is asked at the back. In front those by an older resolv.conf, until their questions are over.
  std::vector<std::unique_ptr<detail::ResolverChannel>> channels_;
  TimePoint next_resolv_conf_check_;  // at resolv.conf
  uint64_t last_id_ = 0;
  ResolverStats stats_;
};

}  // namespace peal
