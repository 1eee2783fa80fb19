// SPDX-License-Identifier: BSD-3-Clause
#include <load/session/session.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <load/session/lane.h>
#include <peal/base/assert.h>

namespace peal::load {

Session::Session(Lane& lane) : lane_(lane), stamps_(lane.options().pipeline) {}

void Session::connect(const SocketAddress& target, const ConnectOptions& options, uint64_t messages) {
  PEAL_ASSERT(state_ == State::kClosed, "connect() is called in state {}", static_cast<int>(state_));
  state_ = State::kConnecting;
  left_ = messages;
  notes.got_answer = false;
  since_ = lane_.engine().now();
  if (lane_.options().layer == nullptr) {
    stream_ = lane_.port().connect(target, options, *this);
  } else {
    opening_ = TcpOpening::begin(*this, lane_.engine(), target, options);
  }
}

size_t Session::abandon(CloseHow how) {
  state_ = State::kClosed;
  if (opening_ != nullptr) std::exchange(opening_, nullptr)->abandon(how);
  if (stream_) lane_.port().close(std::exchange(stream_, {}), how);
  return std::exchange(in_flight_, 0);
}

void Session::stop_listening() {
  if (open()) lane_.port().receive(stream_, false);
}

size_t Session::room() const {
  if (!open()) return 0;
  return static_cast<size_t>(std::min<uint64_t>(stamps_.size() - in_flight_, left_));
}

void Session::send(size_t count, TimePoint due, TimePoint now) {
  PEAL_ASSERT(count > 0 && count <= room(), "{} messages are to be sent, but there is room for only {}", count, room());
  for (size_t i = 0; i < count; ++i) push({due, now});
  left_ -= count;
  send_messages(count);
}

size_t Session::count_if_queued(Queued& queued) const {
  if (open() && notes.got_answer) ++queued.being_served;
  if (!open() || in_flight_ == 0 || notes.got_answer || in_an_answer()) return 0;
  queued.add({.connections = 1, .messages = in_flight_, .bytes_owed = bytes_owed()});
  return in_flight_;
}

void Session::push(const Stamp& stamp) {
  const size_t at = first_ + in_flight_++;
  stamps_[at < stamps_.size() ? at : at - stamps_.size()] = stamp;
}

Stamp Session::pop() {
  PEAL_ASSERT(in_flight_ > 0, "an answer arrived, but no message is in flight; the connection opened at {} ns",
              since_.time_since_epoch().count());
  const Stamp stamp = stamps_[first_];
  if (++first_ == stamps_.size()) first_ = 0;
  --in_flight_;
  return stamp;
}

void Session::answered(TimePoint now) {
  const Stamp stamp = pop();
  answered_at_ = now;
  lane_.message_done(*this, stamp, first_byte_at_, now);
  lane_.leave_flight(1);
}

void Session::answered_and_sent(TimePoint now) {
  Stamp& stamp = stamps_[first_];
  lane_.message_done(*this, stamp, first_byte_at_, now);
  stamp = {now, now};
  if (left_ > 0) --left_;
}

void Session::answered_wrongly(TimePoint now, const std::string& kind, const std::string& sentence) {
  pop();
  answered_at_ = now;
  notes.got_answer = true;
  lane_.message_wrong(kind, sentence);
  lane_.leave_flight(1);
}

void Session::withdraw() {
  pop();
  lane_.leave_flight(1);
}

void Session::go_on(TimePoint now) {
  if (!open()) return;
  if (left_ == 0 && in_flight_ == 0) return lane_.retire(*this);
  lane_.has_room(*this, now);
}

void Session::leave(bool was_idle) {
  // Keeps the messages in flight. When the session's next connection has opened, on_connected() sends these messages
  // again. If the next connection cannot be opened, these messages count as failed.
  state_ = State::kClosed;
  lane_.port().close(std::exchange(stream_, {}));
  lane_.server_left(*this, was_idle);
}

void Session::fail(const std::string& kind, const std::string& sentence) {
  const bool was_open = open();
  const size_t lost = abandon();
  lane_.session_failed(*this, was_open, lost, kind, sentence);
}

void Session::tcp_open() {
  state_ = State::kShaking;
  tcp_open_at_ = lane_.engine().now();
}

void Session::tcp_failed(std::error_code error) {
  opening_ = nullptr;
  fail_opening(error);
}

void Session::shake_hands(LooseStream stream) {
  opening_ = nullptr;
  stream_ = lane_.port().adopt_from(std::move(stream), lane_.options().host, *this);
  if (lane_.port().adopts_open()) on_connected({});
}

void Session::fail_opening(std::error_code error) {
  const State at = state_;
  const size_t lost = abandon();
  lane_.opening_failed(*this, at, lost, error);
}

Result<LayerFacts> Session::layer_facts() const { return lane_.port().layer_facts(stream_); }

void Session::on_connected(std::error_code error) {
  if (error) return fail_opening(error);
  const TimePoint now = lane_.engine().now();
  const TimePoint tcp_open_at = state_ == State::kShaking ? tcp_open_at_ : now;
  const OpeningTimes took{.connect = tcp_open_at - std::exchange(since_, now), .handshake = now - tcp_open_at};
  state_ = State::kOpen;
  begin_connection();
  lane_.port().receive(stream_, true);
  if (in_flight_ > 0) {
    // The messages in flight were sent on the session's previous connection, but were not answered. They are sent again
    // now, so Stamp::sent is set to the current time. Stamp::due stays the same, because the latency of these messages
    // must include the time that was lost with the previous connection.
    left_ -= std::min<uint64_t>(left_, in_flight_);
    for (size_t i = 0; i < in_flight_; ++i) stamps_[(first_ + i) % stamps_.size()].sent = now;
    send_messages(in_flight_);
  }
  lane_.connected(*this, took, now);
}

bool Session::accept_end(TimePoint) { return in_flight_ == 0 && !notes.silent; }

void Session::on_receive_end(std::error_code error) {
  const bool is_idle = in_flight_ == 0;
  // A server should send the end mark of TLS (close_notify) before it closes a TLS connection. If the end mark is
  // missing (kTruncated), data before the close may be missing, too. So the missing mark is an error if a message is in
  // flight, because a part of its answer may be missing. If no message is in flight, no data can be missing, so the
  // missing mark is no error. accept_end() decides whether the close itself is an error.
  const bool is_whole = !error || (is_idle && error == Trouble::kTruncated);
  if (!is_whole) return fail("reset", fmt::format("a connection broke: {}", error.message()));
  if (accept_end(lane_.engine().now())) return leave(is_idle);
  if (!open()) return;
  fail("closed_by_server", in_flight_ == 0
                               ? std::string("the server closed an idle connection, which should have stayed open")
                               : fmt::format("the server closed a connection, but still owed {} answer{}", in_flight_,
                                             in_flight_ == 1 ? "" : "s"));
}

void Session::on_send_failed(std::error_code error) {
  fail("reset", fmt::format("a connection broke while sending: {}", error.message()));
}

}  // namespace peal::load
