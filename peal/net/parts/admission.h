// SPDX-License-Identifier: BSD-3-Clause
// Who may come in when a server is full. Admission counts for all loops of a server; ConnectionCaps, one a loop, knows
// who of its connections has been idle for longest and gives that one's place away. Who still shakes hands is idle.
//
// The bound is exact: a newcomer whose place has to be made waits, unread, until on_close of the evicted one is over.
// The loop that serves the newcomer evicts among its own; when it has nobody idle the newcomer is closed.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include <peal/net/connection.h>

namespace peal::detail {

using PeerKey = SocketAddress::ClientKey;

// Any thread. A cap of 0 is none.
class Admission {
 public:
  Admission(size_t most, size_t most_of_one_peer) : most_(most), most_of_one_peer_(most_of_one_peer) {}

  bool enter();
  void leave() { inside_.fetch_sub(1, std::memory_order_relaxed); }
  bool enter_from(const PeerKey& peer);
  void leave_from(const PeerKey& peer);

 private:
  const size_t most_;
  const size_t most_of_one_peer_;
  std::atomic<size_t> inside_ = 0;
  std::mutex mutex_;
  std::map<PeerKey, size_t> from_;  // guarded by the mutex
};

struct CapEntry {
  using Queue = std::list<Connection*>;

  PeerKey peer{};
  Queue::iterator of_all;   // good while listed
  Queue::iterator of_peer;  // the same
  Queue* peers = nullptr;   // those of this peer; null: not listed
  bool entered = false;     // to be given back
  bool entered_from = false;
  uint32_t successor_slot = 0;  // who waits for this place; generation 0: nobody
  uint32_t successor_generation = 0;
  CapEntry* predecessor = nullptr;  // whose place it waits for
};

class ConnectionCaps {
 public:
  explicit ConnectionCaps(std::shared_ptr<Admission> admission) : admission_(std::move(admission)) {}

  enum class Answer : uint8_t { kEnter, kWait, kRefused };
  // About a connection that is not open yet. kWait: it gets its seat when the one it waits for is released.
  Answer admit(Connection& newcomer);
  // The place it waited for is free.
  static void predecessor_released(Connection& successor);
  // From now on its place may be given away: it is open, or shakes hands. Again, it is the most recent one.
  void list_as_evictable(Connection& connection);
  // It is the most recent one now.
  void mark_most_recent(CapEntry& cap_entry) {
    if (cap_entry.peers == nullptr) return;
    by_recency_.splice(by_recency_.end(), by_recency_, cap_entry.of_all);
    cap_entry.peers->splice(cap_entry.peers->end(), *cap_entry.peers, cap_entry.of_peer);
  }
  // Its place is free, or its successor's.
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
