// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/admission.h>

#include <algorithm>
#include <utility>

#include <peal/net/parts/connection_set.h>

namespace peal::detail {

bool Admission::enter() {
  if (inside_.fetch_add(1, std::memory_order_relaxed) < most_ || most_ == 0) return true;
  leave();
  return false;
}

bool Admission::enter_from(const PeerKey& peer) {
  if (most_of_one_peer_ == 0) return true;
  const std::lock_guard lock(mutex_);
  size_t& count = from_[peer];
  if (count == most_of_one_peer_) return false;
  ++count;
  return true;
}

void Admission::leave_from(const PeerKey& peer) {
  if (most_of_one_peer_ == 0) return;
  const std::lock_guard lock(mutex_);
  auto found = from_.find(peer);
  PEAL_ASSERT(found != from_.end(), "a client returns a place that it never took; {} clients have places",
              from_.size());
  if (--found->second == 0) from_.erase(found);
}

ConnectionCaps::Answer ConnectionCaps::admit(Connection& newcomer) {
  CapEntry& cap_entry = ConnectionSet::give_cap_entry(newcomer);
  Result<SocketAddress> peer = newcomer.peer_address();
  cap_entry.peer = (peer ? *peer : SocketAddress()).client_key();
  Connection* victim = nullptr;
  if (!admission_->enter_from(cap_entry.peer)) {
    auto peers = by_peer_.find(cap_entry.peer);
    if (peers != by_peer_.end()) victim = oldest_idle(peers->second);
    if (victim != nullptr) std::swap(cap_entry.entered_from, ConnectionSet::cap_entry(*victim).entered_from);
  } else {
    cap_entry.entered_from = true;
    cap_entry.entered = admission_->enter();
    if (cap_entry.entered) return Answer::kEnter;
    victim = oldest_idle(by_recency_);
  }
  if (victim == nullptr) return Answer::kRefused;
  std::swap(cap_entry.entered, ConnectionSet::cap_entry(*victim).entered);
  evict(*victim, newcomer);
  return Answer::kWait;
}

// Returns the idle connection that was active least recently, or null. Checks at most the first kMostChecked
// connections. Without that limit, each new connection at a server full of busy connections would make this function
// visit all connections.
Connection* ConnectionCaps::oldest_idle(const CapEntry::Queue& queue) {
  constexpr int kMostChecked = 1024;
  int checked = 0;
  for (Connection* connection : queue) {
    if (ConnectionSet::is_idle(*connection)) return connection;
    if (++checked == kMostChecked) break;
  }
  return nullptr;
}

void ConnectionCaps::evict(Connection& victim, const Connection& successor) {
  CapEntry& cap_entry = ConnectionSet::cap_entry(victim);
  ConnectionSet::set_successor(cap_entry, successor);
  ConnectionSet::cap_entry(successor).predecessor = &cap_entry;
  unlist(cap_entry);
  ConnectionSet::evict(victim);
}

void ConnectionCaps::predecessor_released(Connection& successor) {
  ConnectionSet::cap_entry(successor).predecessor = nullptr;
}

void ConnectionCaps::list_as_evictable(Connection& connection) {
  CapEntry& cap_entry = ConnectionSet::cap_entry(connection);
  if (cap_entry.peers != nullptr) return mark_most_recent(cap_entry);
  cap_entry.peers = &by_peer_[cap_entry.peer];
  cap_entry.of_all = by_recency_.insert(by_recency_.end(), &connection);
  cap_entry.of_peer = cap_entry.peers->insert(cap_entry.peers->end(), &connection);
}

void ConnectionCaps::unlist(CapEntry& cap_entry) {
  if (cap_entry.peers == nullptr) return;
  by_recency_.erase(cap_entry.of_all);
  cap_entry.peers->erase(cap_entry.of_peer);
  if (cap_entry.peers->empty()) by_peer_.erase(cap_entry.peer);
  cap_entry.peers = nullptr;
}

void ConnectionCaps::released(CapEntry& cap_entry) {
  unlist(cap_entry);
  if (CapEntry* before = std::exchange(cap_entry.predecessor, nullptr)) {
    // `cap_entry` belongs to a new connection that is released before `before`, the connection that was evicted for it.
    // `before` still exists, so the evicted connection is counted again in place of the new one.
    if (!before->entered) std::swap(before->entered, cap_entry.entered);
    if (!before->entered_from) std::swap(before->entered_from, cap_entry.entered_from);
    before->successor_generation = 0;
  }
  if (cap_entry.entered) admission_->leave();
  if (cap_entry.entered_from) admission_->leave_from(cap_entry.peer);
}

}  // namespace peal::detail
