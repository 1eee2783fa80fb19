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

  // Takes one of the server's places, which leave() gives back. Returns false if no place is free.
  bool enter();
  void leave() { inside_.fetch_sub(1, std::memory_order_relaxed); }
  // Takes one of the places of this client, which leave_from() gives back. Returns false if no place is free.
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
  // True if the connection holds one of the server's places, which must be given back.
  bool entered = false;
  // True if the connection holds one of its client's places, which must be given back.
  bool entered_from = false;
  // `successor_slot` and `successor_generation` name the connection that waits for the place of this connection.
  // Generation 0 means that no connection waits.
  uint32_t successor_slot = 0;
  uint32_t successor_generation = 0;
  CapEntry* predecessor = nullptr;  // the evicted connection whose place this one waits for
};

class ConnectionCaps {
 public:
  explicit ConnectionCaps(std::shared_ptr<Admission> admission) : admission_(std::move(admission)) {}

  enum class Answer : uint8_t { kEnter, kWait, kRefused };
  // Decides whether a new connection may open: kEnter means now, kWait means when the connection that was evicted for
  // it has been released, kRefused means never.
  Answer admit(Connection& newcomer);
  // Must be called when an evicted connection has been released. `successor` is the connection that waits for its
  // place.
  static void predecessor_released(Connection& successor);
  // Makes the connection evictable from now on, and lists it as the most recently active one. The connection must be
  // open or in its handshake.
  void list_as_evictable(Connection& connection);
  // Moves the connection to the end of both lists, where the most recently active connection is.
  void mark_most_recent(CapEntry& cap_entry) {
    if (cap_entry.peers == nullptr) return;
    by_recency_.splice(by_recency_.end(), by_recency_, cap_entry.of_all);
    cap_entry.peers->splice(cap_entry.peers->end(), *cap_entry.peers, cap_entry.of_peer);
  }
  // Must be called when a connection was released. Gives back its places, or passes them to the evicted connection that
  // it was waiting for.
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
