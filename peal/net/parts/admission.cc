// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/admission.h>

#include <algorithm>
#include <cstring>

#include <peal/net/parts/tracked.h>

namespace peal::detail {

PeerKey peer_key(const SocketAddress& address) {
  PeerKey key{};
  key[0] = static_cast<uint8_t>(address.family());
  if (address.family() == AF_INET) {
    const auto* ip = reinterpret_cast<const sockaddr_in*>(address.data());
    std::memcpy(&key[1], &ip->sin_addr, sizeof ip->sin_addr);
  } else if (address.family() == AF_INET6) {
    const auto* ip = reinterpret_cast<const sockaddr_in6*>(address.data());
    std::memcpy(&key[1], &ip->sin6_addr, sizeof ip->sin6_addr);
  }
  return key;
}

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
  PEAL_ASSERT(found != from_.end(), "a peer left that never entered, {} are inside", from_.size());
  if (--found->second == 0) from_.erase(found);
}

Seats::Answer Seats::admit(Connection& newcomer) {
  Tracked& tracked = newcomer.tracked();
  tracked.seat = std::make_unique<Seat>();
  Seat& seat = *tracked.seat;
  Result<SocketAddress> peer = newcomer.peer_address();
  seat.peer = peer_key(peer ? *peer : SocketAddress());
  Connection* victim = nullptr;
  if (!admission_->enter_from(seat.peer)) {
    auto peers = by_peer_.find(seat.peer);
    if (peers != by_peer_.end()) victim = oldest_idle(peers->second);
    if (victim == nullptr) return Answer::kRefused;
    std::swap(seat.entered_from, victim->tracked_->seat->entered_from);
    std::swap(seat.entered, victim->tracked_->seat->entered);
  } else {
    seat.entered_from = true;
    seat.entered = admission_->enter();
    if (seat.entered) return Answer::kEnter;
    victim = oldest_idle(by_recency_);
    if (victim == nullptr) return Answer::kRefused;
    std::swap(seat.entered, victim->tracked_->seat->entered);
  }
  evict(*victim, newcomer);
  return Answer::kWait;
}

// A bound on the search, or a server full of busy connections would pay for each newcomer with a look at all of them.
Connection* Seats::oldest_idle(const Seat::Queue& queue) {
  constexpr int kMostLooks = 1024;
  int looks = 0;
  for (Connection* connection : queue) {
    if (connection->is_idle()) return connection;
    if (++looks == kMostLooks) break;
  }
  return nullptr;
}

void Seats::evict(Connection& victim, const Connection& successor) {
  Seat& seat = *victim.tracked_->seat;
  seat.successor_slot = successor.slot;
  seat.successor_generation = successor.generation;
  unlist(seat);
  victim.end(CloseReason::kEvicted);
}

void Seats::opened(Connection& connection) {
  Seat& seat = *connection.tracked_->seat;
  seat.peers = &by_peer_[seat.peer];
  seat.of_all = by_recency_.insert(by_recency_.end(), &connection);
  seat.of_peer = seat.peers->insert(seat.peers->end(), &connection);
}

void Seats::unlist(Seat& seat) {
  if (seat.peers == nullptr) return;
  by_recency_.erase(seat.of_all);
  seat.peers->erase(seat.of_peer);
  if (seat.peers->empty()) by_peer_.erase(seat.peer);
  seat.peers = nullptr;
}

void Seats::released(Seat& seat) {
  unlist(seat);
  if (seat.entered) admission_->leave();
  if (seat.entered_from) admission_->leave_from(seat.peer);
}

}  // namespace peal::detail
