// SPDX-License-Identifier: BSD-3-Clause
// Resolver: looks up the addresses of names by /etc/hosts and DNS (c-ares), without ever blocking the loop. If the
// engine has a network of its own (a simulated one), its table of names is used instead (Engine::names).
//
// Threads and lifetime. A Resolver belongs to its loop. It is used on the loop's thread, or before the loop runs. The
// user owns it and may share it among the loop's clients (ClientOptions::resolver); clients without one share the
// loop's own. It may be destroyed on any thread, before or after its loop, with lookups pending, and inside an answer.
// If the loop runs on another thread, the destructor waits for the loop's current turn. After that no answer is given.
// When a loop ends, its pending lookups are dropped without an answer. Nothing is cached: run a caching name server on
// the machine.
//
// The two families. IPv4 and IPv6 addresses are two questions (A and AAAA), and one of the answers may be late or lost.
// When one answer has addresses, the lookup waits a moment for the other one (RFC 8305 3), then succeeds. The lookup
// fails if neither answer has addresses: with kHostNotFound if both say so, otherwise with the reason why it is not
// known.
//
// Order. /etc/hosts is read with every lookup and asked first, then DNS; nsswitch.conf(5) is ignored. "localhost" and
// names below it always mean the loopback (RFC 6761 6.3).
//
// Limits. At most 64 names are new to the name server at a time, since a burst would overflow the buffers that receive
// its answers. Further names wait. A name without an answer after a twentieth of try_timeout makes room for the next
// one. A failure for one name, for example of a TCP connection for its long answer, does not affect other names. While
// more than 32 long answers are awaited over TCP, those that take longer than a tenth of try_timeout fail with
// kNoAnswer.
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
  // Addresses of the name servers, for example "127.0.0.1:5353,[::1]:53". Empty means the name servers in resolv_conf.
  std::string servers = {};
  // The file with the name servers, the search list and the options (resolv.conf(5)). A lookup checks, at most once a
  // second, whether the file has changed; if so, new lookups use the new content. While the file is missing, the old
  // content stays in use, because the file is probably being replaced.
  std::string resolv_conf = "/etc/resolv.conf";
  // Timeout of the first try, between 1 ms and 10 min. Further tries wait longer.
  Duration try_timeout = std::chrono::seconds(2);
  // Number of tries at each server. If an answer does not fit into a datagram, the question is asked once more over
  // TCP.
  int tries = 3;
  // Limit of pending lookups. Further lookups fail with kTooManyLookups. A cancelled lookup counts until c-ares has
  // finished its question.
  size_t most_pending = 1024;
};

struct ResolveOptions {
  // After this time the lookup fails with Trouble::kNoAnswer. If the lookup has found some addresses by then, it
  // succeeds with those.
  Duration timeout = std::chrono::seconds(10);
  // How long a lookup that has addresses of one family waits for addresses of the other (RFC 8305 3, Resolution Delay).
  // Duration::max() means to wait until the answers for both families are known or `timeout` has passed.
  Duration other_family_wait = std::chrono::milliseconds(50);
};

// Counters of a Resolver. They are not atomic, and must be read on the resolver's thread.
struct ResolverStats {
  uint64_t lookups = 0;    // accepted by resolve() or resolve_in_parts()
  uint64_t answered = 0;   // succeeded with addresses
  uint64_t failed = 0;     // failed with an error, timeouts included
  uint64_t timeouts = 0;   // reached ResolveOptions::timeout
  uint64_t cancelled = 0;  // ended by cancel()
  uint64_t refused = 0;    // refused because of most_pending
};

// Identifies one lookup. An id is never used twice.
enum class ResolveId : uint64_t { kNone = 0 };

class Resolver {
 public:
  // The addresses that a lookup has found, best first (RFC 6724), each with the port that was asked for.
  using Addresses = std::vector<SocketAddress>;
  using Answer = Callback<void(Result<Addresses>)>;
  using Part = Callback<void(Result<Addresses>, bool more)>;

  // A Resolver must be created on the loop's thread, or before the loop runs.
  explicit Resolver(Loop& loop, const ResolverOptions& options = {});
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Looks up the addresses of a host, and calls `on_answer` once, from the loop and never inside this call. `host` is a
  // name (RFC 1123 2.1: letters, digits, hyphens, also '_'; at most 253 bytes), or an IP address with or without
  // brackets. A `host` that a peer has chosen does no harm: no text names a unix socket.
  //
  // `on_answer` is called with at least one address, or with an error: Trouble::kHostNotFound, kNoAnswer,
  // kNameServerFailed or an errno. The addresses are of both families, or only of the family whose answer came in time.
  // If resolve() itself fails, with Trouble::kBadAddress, kTooManyLookups or kLoopStopped, `on_answer` is never called.
  Result<ResolveId> resolve(std::string_view host, uint16_t port, const ResolveOptions& options, Answer on_answer);
  // Looks up like resolve(), for a caller that can begin with some of the addresses. IPv6 addresses are delivered at
  // once. IPv4 addresses are delivered when the answer for IPv6 is known or other_family_wait has passed (RFC 8305 3).
  // `on_part` is called once, or twice if `more` is true in the first call. The second call has the further addresses,
  // perhaps none. An error is delivered only if there are no addresses at all.
  Result<ResolveId> resolve_in_parts(std::string_view host, uint16_t port, const ResolveOptions& options, Part on_part);

  // Cancels a lookup: its callback is destroyed now and never called. Returns true if the lookup was pending. c-ares
  // cannot take back a question that it has sent over UDP; the answer to that question is ignored.
  bool cancel(ResolveId id);

  size_t pending() const { return lookups_.size(); }
  const ResolverStats& stats() const { return stats_; }

 private:
  struct Lookup {
    std::string host;
    uint16_t port = 0;
    SocketAddress literal;  // set if the host is an IP address, which needs no lookup
    TimePoint deadline;
    Duration other_family_wait{};
    bool in_parts = false;
    std::shared_ptr<Part> on_part;  // shared, because a call of it may end the lookup
    TimerId timer;                  // calls start(), later ends the lookup at its deadline
    TimerId answer_timer;           // calls deliver_answer()
    // Addresses that have been found, but not passed to on_part yet.
    Addresses undelivered;
    bool delivered_some = false;                 // on_part was called with some addresses and `more`
    bool more = true;                            // the answer for the other family is still awaited
    std::error_code error = Trouble::kNoAnswer;  // for on_part, if there are no addresses
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

  Loop* const loop_;  // valid only while mailbox_ says that the loop can be reached
  const std::shared_ptr<Mailbox> mailbox_;
  const ResolverOptions options_;
  std::map<ResolveId, Lookup> lookups_;
  // The channels, newest last. New questions go to the last channel. The other channels use an older resolv.conf, and
  // stay until their questions are answered.
  std::vector<std::unique_ptr<detail::ResolverChannel>> channels_;
  TimePoint next_resolv_conf_check_;  // when to look whether resolv.conf has changed
  uint64_t last_id_ = 0;
  ResolverStats stats_;
};

}  // namespace peal
