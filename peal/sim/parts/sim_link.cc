// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/parts/sim_link.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include <peal/base/assert.h>
#include <peal/sim/parts/sim_network.h>

namespace peal::detail {

void SimEnd::set_owner(SimOwner* owner, uint32_t slot) {
  owner_ = owner;
  slot_ = slot;
}

void SimEnd::set_send_buffer(uint32_t bytes) {
  send_bytes_ = bytes != 0 ? bytes : link_.network.options.send_buffer_bytes;
}
void SimEnd::set_receive_buffer(uint32_t bytes) {
  receive_bytes_ = bytes != 0 ? bytes : link_.network.options.receive_buffer_bytes;
}

void SimEnd::notify() {
  if (owner_ == nullptr) return;
  SimNetwork& network = link_.network;
  if (!network.chance(network.options.late)) return owner_->slot_ready(SimOwner::Kind::kStream, slot_);
  ++network.stats.late;
  notify_later();
}

void SimEnd::notify_later() {
  SimNetwork& network = link_.network;
  network.after(network.random_up_to(network.options.late_by), [end = self()] {
    if (end->owner_ != nullptr) end->owner_->slot_ready(SimOwner::Kind::kStream, end->slot_);
  });
}

size_t SimEnd::room() const {
  const size_t most = size_t{send_bytes_} + other().receive_bytes_;
  return outstanding_ < most ? most - outstanding_ : 0;
}

size_t SimEnd::unacknowledged() const {
  const size_t taken_in = other().receive_bytes_;
  return std::max(in_flight_, outstanding_ > taken_in ? outstanding_ - taken_in : 0);
}

// What vanishes on its way is missed only by whom waits for an acknowledgement.
void SimEnd::travel(Callback<void(SimEnd&)> act) {
  SimNetwork& network = link_.network;
  last_arrival_ = std::max(last_arrival_, network.now() + network.travel_time());
  network.at(last_arrival_, [from = self(), act = std::move(act)]() mutable {
    if (from->link_.cut) return;
    if (from->link_.vanished) return from->await_acknowledgement();
    act(from->other());
  });
}

void SimEnd::await_acknowledgement() {
  if (std::exchange(giving_up_, true) || closed_) return;
  link_.network.after(link_.network.options.give_up, [end = self()] { end->fail(ETIMEDOUT); });
}

void SimEnd::write(std::string bytes) {
  PEAL_ASSERT(!bytes.empty() && bytes.size() <= room() && !fin_sent_ && error_ == 0, "{} bytes into room for {}",
              bytes.size(), room());
  SimNetwork& network = link_.network;
  network.trace("sends", id(), bytes.size());
  ++network.stats.packets;
  outstanding_ += bytes.size();
  in_flight_ += bytes.size();
  if (network.chance(network.options.reset)) {
    network.trace("meets a reset", id(), 0);
    ++network.stats.resets;
    link_.cut = true;
    network.after(network.travel_time(), [end = self()] { end->fail(ECONNRESET); });
    network.after(network.travel_time(), [end = other().self()] { end->fail(ECONNRESET); });
    return;
  }
  if (!link_.vanished && network.chance(network.options.vanish)) {
    network.trace("vanishes", id(), 0);
    ++network.stats.vanished;
    link_.vanished = true;
  }
  travel([bytes = std::move(bytes)](SimEnd& to) { to.arrive(bytes); });
}

void SimEnd::send_fin() {
  if (std::exchange(fin_sent_, true) || error_ != 0) return;
  link_.network.trace("sends fin", id(), 0);
  travel([](SimEnd& to) {
    to.fin_arrived_ = true;
    to.notify();
  });
}

void SimEnd::arrive(const std::string& bytes) {
  other().in_flight_ -= bytes.size();
  if (error_ != 0) return;
  if (closed_) {  // nobody reads it any more: RFC 9293 3.10.7.1
    return travel([](SimEnd& to) { to.reset_arrives(); });
  }
  arrived_.append(bytes);
  notify();
}

// What this end's buffer had no room for never left the other's.
void SimEnd::reset_arrives() {
  arrived_.resize(std::min(arrived_.size(), taken_ + receive_bytes_));
  fail(ECONNRESET);
}

void SimEnd::consume(size_t bytes) {
  taken_ += bytes;
  PEAL_ASSERT(taken_ <= arrived_.size(), "{} bytes read of {}", taken_, arrived_.size());
  if (taken_ * 2 >= arrived_.size()) {
    arrived_.erase(0, taken_);
    taken_ = 0;
  }
  SimNetwork& network = link_.network;
  network.after(network.travel_time(), [from = other().self(), bytes] {
    if (from->link_.vanished || from->link_.cut) return;
    from->outstanding_ -= bytes;
    from->notify();
  });
}

void SimEnd::close(bool reset) {
  PEAL_ASSERT(!closed_, "end {} closed twice", id());
  const bool unread = !readable().empty();
  closed_ = true;
  owner_ = nullptr;
  std::string().swap(arrived_);
  taken_ = 0;
  if (connected != 0 || error_ != 0) return;
  if (!reset && !unread) return send_fin();
  link_.network.trace("sends reset", id(), 0);
  travel([](SimEnd& to) { to.reset_arrives(); });
}

void SimEnd::fail(int error) {
  if (closed_ || error_ != 0) return;
  link_.network.trace("fails", id(), static_cast<uint64_t>(error));
  error_ = error;
  notify();
}

}  // namespace peal::detail
