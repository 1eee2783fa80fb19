// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/parts/sim_link.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include <peal/base/assert.h>
#include <peal/sim/parts/sim_network.h>

namespace peal::detail {

SimLink::~SimLink() { network.forget(*this); }

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

void SimEnd::notify_owner() {
  if (owner_ == nullptr) return;
  SimNetwork& network = link_.network;
  if (!network.strikes(SimFaultKind::kLate, peer, local)) return owner_->slot_ready(SimOwner::Kind::kStream, slot_);
  notify_owner_later(SimFaultKind::kLate);
}

void SimEnd::notify_owner_later(SimFaultKind because) {
  link_.network.after(link_.network.lateness(because, link_.network.options.late_by), [end = self()] {
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

bool SimEnd::path_is_open() const { return !link_.vanished && !link_.network.hosts.is_cut(local, peer); }

void SimEnd::send_packet(size_t bytes, Act act) {
  if (!powered()) return;
  SimNetwork& network = link_.network;
  last_arrival_ = std::max(last_arrival_, later(network.now(), network.travel_time(local, peer)));
  network.at(last_arrival_, [from = self(), packet = Packet{bytes, std::move(act)}]() mutable {
    if (from->link_.broken || from->lost_) return;
    if (from->held_.empty() && from->path_is_open()) return from->deliver(packet);
    from->held_.push_back(std::move(packet));
    if (from->may_retransmit()) {
      from->start_retransmit();
    } else {
      from->drop_held();
    }
  });
}

void SimEnd::deliver(Packet& packet) {
  unacked_ = true;
  unacked_bytes_ += packet.bytes;
  if (other().powered()) packet.act(&other());
  request_acknowledgement();
}

// If the other end has lost its power and packets arrive at its address, the machine there was restarted. Such a
// machine does not know the connection and answers with a reset (RFC 9293 3.5.1).
void SimEnd::request_acknowledgement() {
  if (other().powered() && other().path_is_open()) return take_acknowledgement();
  if (!other().powered()) {
    SimNetwork& network = link_.network;
    network.after(network.travel_time(peer, local), [end = self()] {
      if (end->other().path_is_open()) end->reset_arrives();
    });
  }
  start_retransmit();
}

void SimEnd::take_acknowledgement() {
  unacked_ = false;
  in_flight_ -= std::exchange(unacked_bytes_, 0);
  const size_t window = std::exchange(unacked_window_, 0);
  outstanding_ -= window;
  // An acknowledgement ends the retransmission if no packet waits for it. The next wait for an acknowledgement starts
  // with a new timer and a new give_up_.
  if (held_.empty()) {
    retransmit_in_ = {};
    ++timer_number_;
  }
  retransmit_if_waiting();
  if (window > 0) notify_owner();
}

bool SimEnd::must_probe_window() const {
  return outstanding_ > other().receive_bytes_ && !(path_is_open() && other().path_is_open() && other().powered());
}

void SimEnd::drop_held() {
  lost_ = lost_ || !held_.empty();
  held_.clear();
}

void SimEnd::start_retransmit() {
  constexpr Duration kFirst = std::chrono::milliseconds(200);  // TCP_RTO_MIN of Linux
  if (retransmit_in_ > Duration::zero()) return;
  SimNetwork& network = link_.network;
  give_up_ = later(network.now(), network.options_for(local, peer).give_up);
  retransmit_in_ = kFirst;
  schedule_retransmit();
}

void SimEnd::schedule_retransmit() {
  link_.network.at(std::min(later(link_.network.now(), retransmit_in_), give_up_),
                   [end = self(), timer = timer_number_] {
                     if (timer == end->timer_number_) end->retransmit();
                   });
}

void SimEnd::retransmit() {
  constexpr Duration kLongest = std::chrono::seconds(120);  // TCP_RTO_MAX of Linux
  SimNetwork& network = link_.network;
  if (!may_retransmit()) drop_held();
  if (may_retransmit() && path_is_open()) {
    for (Packet& packet : std::exchange(held_, {})) deliver(packet);
    request_acknowledgement();
  }
  if (!awaits_acknowledgement() || !may_retransmit()) {
    retransmit_in_ = {};
    return;
  }
  if (network.now() >= give_up_) {
    drop_held();
    return fail(ETIMEDOUT);
  }
  retransmit_in_ = std::min(retransmit_in_ * 2, kLongest);
  schedule_retransmit();
}

void SimEnd::write(std::string bytes) {
  PEAL_ASSERT(!bytes.empty() && bytes.size() <= room() && !fin_sent_ && error_ == 0, "{} bytes into room for {}",
              bytes.size(), room());
  SimNetwork& network = link_.network;
  outstanding_ += bytes.size();
  in_flight_ += bytes.size();
  if (!powered()) return;
  network.trace("sends", *this, bytes.size());
  ++network.stats.packets;
  const SimNetwork::Drawn reset = network.draw(SimFaultKind::kReset, local, peer);
  const SimNetwork::Drawn vanish = network.draw(SimFaultKind::kVanish, local, peer);
  const bool heard = path_is_open() && other().path_is_open() && other().powered();
  if (heard && network.strikes(reset)) {
    network.trace("meets a reset", *this, 0);
    link_.broken = true;
    network.after(network.travel_time(peer, local), [end = self()] { end->fail(ECONNRESET); });
    network.after(network.travel_time(local, peer), [end = other().self()] { end->fail(ECONNRESET); });
    return;
  }
  if (!link_.vanished && network.strikes(vanish)) {
    network.trace("vanishes", *this, 0);
    link_.vanished = true;
    other().retransmit_if_waiting();
  }
  const size_t size = bytes.size();
  send_packet(size, [bytes = std::move(bytes)](SimEnd* to) { to->arrive(bytes); });
}

void SimEnd::send_fin() {
  if (std::exchange(fin_sent_, true) || error_ != 0 || !powered()) return;
  link_.network.trace("sends fin", *this, 0);
  send_packet(0, [](SimEnd* to) {
    if (to->aborted_ || to->error_ != 0) return to->send_reset();
    to->fin_arrived_ = true;
    to->notify_owner();
  });
}

void SimEnd::arrive(const std::string& bytes) {
  if (closed_ || error_ != 0) return send_reset();  // no reader is left (RFC 9293 3.10.7.1)
  arrived_.append(bytes);
  notify_owner();
}

void SimEnd::send_reset() {
  if (!powered()) return;
  SimNetwork& network = link_.network;
  last_arrival_ = std::max(last_arrival_, later(network.now(), network.travel_time(local, peer)));
  network.at(last_arrival_, [from = self()] {
    if (!from->link_.broken && from->path_is_open()) from->other().reset_arrives();
  });
}

// Ends the connection with ECONNRESET. Bytes beyond the size of this end's receive buffer are dropped, because a real
// sender would not have sent them yet.
void SimEnd::reset_arrives() {
  if (closed_) aborted_ = true;
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
  network.after(network.travel_time(local, peer), [from = other().self(), bytes] {
    if (from->link_.broken || !from->other().powered()) return;
    from->unacked_window_ += bytes;
    if (from->other().path_is_open()) return from->take_acknowledgement();
    if (from->room() == 0) from->start_retransmit();
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
  link_.network.trace("sends reset", *this, 0);
  send_reset();
  aborted_ = true;
}

void SimEnd::fail(int error) {
  if (closed_ || error_ != 0) return;
  link_.network.trace("fails", *this, static_cast<uint64_t>(error));
  error_ = error;
  notify_owner();
}

}  // namespace peal::detail
