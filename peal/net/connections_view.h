// SPDX-License-Identifier: BSD-3-Clause
// ConnectionsView: the connections of one server on one loop, for inspection from outside (peal/inspect).
//
// Server::views() returns one view for each loop. A view may be copied, kept on any thread, and kept for longer than
// the server lives: then it shows no connections. Functions that look at connections must be called on the loop's
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/loop/mailbox.h>
#include <peal/net/connection_facts.h>
#include <peal/net/net_stats.h>
#include <peal/observe/flight_recorder.h>

namespace peal {

namespace detail {
class ConnectionSet;
}

enum class EndHow : uint8_t {
  kDrain,  // as a drain of the server does: after the work in progress is done
  kAbort,  // at once, by RST
};

// What a list of connections is sorted by.
enum class ConnectionSort : uint8_t {
  kQueued,    // ConnectionFacts::queued_bytes
  kReceived,  // received_bytes
  kSent,      // sent_bytes
  kKept,      // kept_bytes
  kAge,       // age
};

// The names of ConnectionSort's values, in their order: "queued", "received", ...
inline constexpr std::array<std::string_view, 5> kConnectionSorts{"queued", "received", "sent", "kept", "age"};

// Which connections to list, and in which order.
struct ConnectionQuery {
  ConnectionSort sort = ConnectionSort::kQueued;
  bool ascending = false;  // true: the smallest first
  std::string state = {};  // only connections in the state of this name (ConnectionFacts::state); empty: all states
  // Only connections whose peer's address as text contains this; empty: all peers. The peer's address is read by one
  // system call for each connection in the wanted state.
  std::string search = {};
  size_t most = 100;  // the most connections to return

  bool operator==(const ConnectionQuery&) const = default;
};

struct ConnectionList {
  size_t matched = 0;                  // connections that match the query, also those that were not returned
  std::vector<ConnectionFacts> facts;  // the first `most` of them
  // For each of these, its place in the order of the query: the highest is first. Lists of several loops are merged by
  // it.
  std::vector<uint64_t> ranks;
};

class ConnectionsView {
 public:
  explicit ConnectionsView(std::shared_ptr<detail::ConnectionSet> set) : set_(std::move(set)) {}

  // Returns the mailbox of the loop. May be called on any thread.
  const std::shared_ptr<Mailbox>& mailbox() const;
  // Returns how many connections are open, in their handshake, or accepted for this loop but not yet handed over to it.
  // May be called on any thread.
  size_t count() const;

  // Returns the counters of the connections on this loop. stats() and all functions below it must be called on the
  // loop's thread.
  NetStats stats() const;
  // Returns the counters of ConnectionOptions::layer, summed over all servers and clients that use that layer. Returns
  // nullopt if no layer is set, and after the server was destroyed.
  std::optional<LayerStats> layer_stats() const;
  // Returns the facts of the connections that match the query. Visits all connections, and makes a few system calls for
  // each connection that is returned.
  ConnectionList list(const ConnectionQuery& query) const;
  // Returns the facts of at most `most` connections, those with the most queued bytes first.
  std::vector<ConnectionFacts> list(size_t most) const { return list({.most = most}).facts; }
  // Returns the facts of one connection, or nullopt if that connection has ended.
  std::optional<ConnectionFacts> find(uint32_t slot, uint32_t generation) const;
  // Returns at most `most` events of one connection, oldest first, as far as the loop's flight recorder still holds
  // them. May be called after the connection's end too. Returns an empty vector if the loop has no recorder.
  std::vector<FlightEvent> flight(uint32_t slot, uint32_t generation, size_t most) const;
  // Ends one connection. Returns false if that connection has ended already.
  bool end(uint32_t slot, uint32_t generation, EndHow how) const;

 private:
  std::shared_ptr<detail::ConnectionSet> set_;
};

}  // namespace peal
