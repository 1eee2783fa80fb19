// SPDX-License-Identifier: BSD-3-Clause
// Admission and ConnectionCaps: decide which newcomer gets in when a server is full. Admission counts the connections
// of all loops of a server. ConnectionCaps, one for each loop, knows which connection of its loop has been idle for
// longest, and gives that connection's place to the newcomer. A connection in its handshake counts as idle.
//
// The limit is exact: the newcomer waits, and is not read, until on_close of the evicted connection has returned. A
// loop evicts only its own connections; if it has no idle one, the newcomer is closed.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include <peal/net/connection.h>

namespace peal::detail {

using PeerKey = SocketAddress::ClientKey;

// Counts the connections of a server against two limits: one for all clients together, one for each client. A limit of
// 0 means no limit. May be used on any thread.
class Admission {
 public:
  Admission(size_t most, size_t most_of_one_peer) : most_(most), most_of_one_peer_(most_of_one_peer) {}

  // enter() counts one more connection of the server. If the server's limit is reached, counts nothing and returns
  // false. leave() must be called after the end of each connection that was counted.
  bool enter();
  void leave() { inside_.fetch_sub(1, std::memory_order_relaxed); }
  // enter_from() counts one more connection of the client `peer`. If that client's limit is reached, counts nothing and
  // returns false. leave_from() must be called after the end of each connection that was counted.
  bool enter_from(const PeerKey& peer);
  void leave_from(const PeerKey& peer);

 private:
  const size_t most_;
  const size_t most_of_one_peer_;
  std::atomic<size_t> inside_ = 0;
  std::mutex mutex_;
  std::map<PeerKey, size_t> from_;  // guarded by the mutex
};

// The data that ConnectionCaps keeps for one connection.
struct CapEntry {
  using Queue = std::list<Connection*>;

  PeerKey peer{};
  Queue::iterator of_all;   // valid while listed
  Queue::iterator of_peer;  // valid while listed
  Queue* peers = nullptr;   // list of this client's connections; null while not listed
  // True if this connection was counted by Admission::enter(), so that leave() must be called after its end.
  bool entered = false;
  // True if this connection was counted by Admission::enter_from(), so that leave_from() must be called after its end.
  bool entered_from = false;
  // If this connection was evicted: slot and generation of the new connection that opens when this connection has been
  // released. Generation 0 means that there is no such new connection.
  uint32_t successor_slot = 0;
  uint32_t successor_generation = 0;
  CapEntry* predecessor = nullptr;  // entry of the evicted connection that this connection waits for
};

class ConnectionCaps {
 public:
  explicit ConnectionCaps(std::shared_ptr<Admission> admission) : admission_(std::move(admission)) {}

  enum class Answer : uint8_t { kEnter, kWait, kRefused };
  // Decides whether `newcomer` may open. Returns
  // - kEnter if it may open now,
  // - kWait if another connection was evicted for it: it may open when that connection has been released,
  // - kRefused if it must be closed.
  Answer admit(Connection& newcomer);
  // Must be called when the connection that was evicted for `successor` has been released. Clears the pointer from
  // `successor` to the evicted connection.
  static void predecessor_released(Connection& successor);
  // Makes the connection evictable from now on, and lists it as the most recently active one. The connection must be
  // open or in its handshake.
  void list_as_evictable(Connection& connection);
  // Moves the connection to the end of by_recency_ and of its client's list, where the most recently active connections
  // are. Does nothing if the connection is not listed.
  void mark_most_recent(CapEntry& cap_entry) {
    if (cap_entry.peers == nullptr) return;
    by_recency_.splice(by_recency_.end(), by_recency_, cap_entry.of_all);
    cap_entry.peers->splice(cap_entry.peers->end(), *cap_entry.peers, cap_entry.of_peer);
  }
  // Must be called when a connection was released. Calls Admission::leave() and leave_from() if the connection was
  // counted. If the connection was still waiting for an evicted connection, the counts that it took over from the
  // evicted connection are not subtracted but returned to that connection.
  void released(CapEntry& cap_entry);

 private:
  static Connection* oldest_idle(const CapEntry::Queue& queue);
  void unlist(CapEntry& cap_entry);
  void evict(Connection& victim, const Connection& successor);

  const std::shared_ptr<Admission> admission_;
  CapEntry::Queue by_recency_;  // the least recently active first
  std::map<PeerKey, CapEntry::Queue> by_peer_;
};

}  // namespace peal::detail
