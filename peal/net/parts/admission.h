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

// Counts the connections of a server against its two limits. Any thread. A limit of 0 means that there is none.
class Admission {
 public:
  Admission(size_t most, size_t most_of_one_peer) : most_(most), most_of_one_peer_(most_of_one_peer) {}

  // Takes a place of the server, which leave() returns. Returns false if none is left.
  bool enter();
  void leave() { inside_.fetch_sub(1, std::memory_order_relaxed); }
  // Takes a place of this client, which leave_from() returns. Returns false if none is left.
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
  Queue* peers = nullptr;   // the list of this peer's connections; null while not listed
  // True if the connection holds a place of the server, which must be returned.
  bool entered = false;
  // True if the connection holds a place of its client, which must be returned.
  bool entered_from = false;
  // The connection that waits for this one's place. Generation 0 means that none waits.
  uint32_t successor_slot = 0;
  uint32_t successor_generation = 0;
  CapEntry* predecessor = nullptr;  // the evicted connection whose place this one waits for
};

class ConnectionCaps {
 public:
  explicit ConnectionCaps(std::shared_ptr<Admission> admission) : admission_(std::move(admission)) {}

  enum class Answer : uint8_t { kEnter, kWait, kRefused };
  // Decides about a connection that is not open yet. kWait means that it may open when the evicted connection is
  // released.
  Answer admit(Connection& newcomer);
  // Must be called when the connection that `successor` waited for has been released.
  static void predecessor_released(Connection& successor);
  // Makes the connection evictable from now on: it is open or in its handshake. It is listed as the most recently
  // active.
  void list_as_evictable(Connection& connection);
  // Moves the connection to the end of the lists, as the most recently active.
  void mark_most_recent(CapEntry& cap_entry) {
    if (cap_entry.peers == nullptr) return;
    by_recency_.splice(by_recency_.end(), by_recency_, cap_entry.of_all);
    cap_entry.peers->splice(cap_entry.peers->end(), *cap_entry.peers, cap_entry.of_peer);
  }
  // Returns the places of a connection that was released, or passes them to the one it waited for.
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
