// SPDX-License-Identifier: BSD-3-Clause
#include <load/ping_pong_session.h>

#include <utility>

#include <fmt/format.h>

#include <load/lane.h>
#include <peal/base/assert.h>

namespace peal::load {

std::unique_ptr<Session> PingPong::make_session(Lane& lane) const {
  return std::make_unique<PingPongSession>(lane, pattern_);
}

// After a drained closed loop the stream may stand inside a lap; nothing starts then. Otherwise idle means position 0.
void PingPongSession::start() {
  PEAL_ASSERT(owed_ == 0 && position_ == 0, "a lap starts while {} bytes are outstanding at {}", owed_, position_);
  owed_ = pattern_.size();
  lane().recording().counts.bytes_sent += pattern_.size();
  lane().engine().send(stream(), pattern_.message());
}

void PingPongSession::on_received(Buffer& bytes) {
  const size_t size = bytes.size();
  if (size > owed_ || !pattern_.matches(bytes, position_)) [[unlikely]]
    return fail_over(bytes);
  Lane& lane = this->lane();
  Counts& counts = lane.recording().counts;
  ++counts.reads;
  counts.bytes_received += size;
  // What came is what is owed again: the block goes straight back out.
  if (lane.circulates()) {
    counts.bytes_sent += size;
    lane.engine().send(stream(), std::move(bytes));
  } else {
    owed_ -= size;
  }
  position_ += size;
  if (position_ >= pattern_.size()) {
    position_ -= pattern_.size();
    lane.message_done(*this);
  }
  if (owed_ == 0) lane.idle(*this);
}

void PingPongSession::fail_over(const Buffer& bytes) {
  if (bytes.size() > owed_) {
    return fail("too_many_bytes",
                fmt::format("the server sent {} bytes where {} were outstanding", bytes.size(), owed_));
  }
  const size_t right = pattern_.matching_bytes(bytes, position_);
  fail("wrong_bytes", fmt::format("byte {} of a {}-byte message came back changed",
                                  (position_ + right) % pattern_.size(), pattern_.size()));
}

}  // namespace peal::load
