// SPDX-License-Identifier: BSD-3-Clause
#include <load/session/echo_session.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <load/session/lane.h>
#include <peal/base/assert.h>

namespace peal::load {

std::unique_ptr<Session> EchoProtocol::make_session(Lane& lane) const {
  const bool bounces = !framed_ && lane.options().closed_loop() && lane.options().pipeline == 1;
  return std::make_unique<EchoSession>(lane, pattern_, bounces);
}

EchoSession::EchoSession(Lane& lane, const EchoPattern& pattern, bool bounces)
    : Session(lane), pattern_(pattern), bounces_(bounces) {}

void EchoSession::begin_connection() {
  position_ = 0;
  owed_ = 0;
}

void EchoSession::send_messages(size_t count) {
  owed_ += count * pattern_.size();
  lane().recording().counts.bytes_sent += count * pattern_.size();
  for (size_t i = 0; i < count; ++i) lane().port().send(stream(), pattern_.message());
}

void EchoSession::on_received(Buffer& bytes) {
  const size_t size = bytes.size();
  if (size > owed_ || !pattern_.matches(bytes, position_)) [[unlikely]]
    return fail_over(bytes);
  Counts& counts = lane().recording().counts;
  ++counts.reads;
  counts.bytes_received += size;
  const TimePoint now = lane().engine().now();
  if (bounces_) {
    bounce(bytes, now);
  } else {
    count(size, now);
  }
  go_on(now);
}

// Handles received bytes. Sends them back to the server immediately, as bytes of the next message. In two cases, the
// bytes are not sent back, but only subtracted from `owed_`, the number of bytes that have not come back yet:
// - The run has stopped sending.
// - The connection may carry no more messages.
void EchoSession::bounce(Buffer& bytes, TimePoint now) {
  while (!bytes.empty()) {
    const size_t step = std::min(bytes.size(), pattern_.size() - position_);
    if (lane().circulates() && left() > 0) {
      lane().recording().counts.bytes_sent += step;
      lane().port().send(stream(), bytes.take(step));
    } else {
      owed_ -= step;
      bytes.consume(step);
    }
    position_ += step;
    if (position_ < pattern_.size()) continue;
    position_ = 0;
    if (owed_ > 0) {
      answered_and_sent(now);
    } else {
      answered(now);
    }
  }
  if (owed_ > 0 || in_flight() == 0) return;
  // All bytes that were sent have come back, but a message is still in flight. Only the first part of this message was
  // sent, because the run has stopped sending in the middle of the message. The rest is never sent, so the message
  // cannot be answered. Therefore the message is removed from the messages in flight, and the next message begins at
  // position 0.
  position_ = 0;
  withdraw();
}

void EchoSession::count(size_t bytes, TimePoint now) {
  owed_ -= bytes;
  while (bytes > 0) {
    if (position_ == 0) first_byte(now);
    const size_t step = std::min(bytes, pattern_.size() - position_);
    bytes -= step;
    position_ += step;
    if (position_ < pattern_.size()) return;
    position_ = 0;
    answered(now);
  }
}

void EchoSession::fail_over(const Buffer& bytes) {
  if (bytes.size() > owed_) {
    return fail("too_many_bytes",
                fmt::format("the server sent {} bytes, but only {} were outstanding", bytes.size(), owed_));
  }
  const size_t right = pattern_.matching_bytes(bytes, position_);
  fail("wrong_bytes", fmt::format("byte {} of a {}-byte message came back changed",
                                  (position_ + right) % pattern_.size(), pattern_.size()));
}

}  // namespace peal::load
