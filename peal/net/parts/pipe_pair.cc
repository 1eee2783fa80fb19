// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/pipe_pair.h>

#include <cerrno>
#include <utility>

#include <peal/net/parts/tracked.h>

namespace peal::detail {

PipePair::PipePair(Connection& a, Connection& b, bool splice, Callback<void(PipeReport)> on_done)
    : sides_{Side{&a, a.set_->shared_from_this()}, Side{&b, b.set_->shared_from_this()}},
      splice_(splice),
      on_done_(std::move(on_done)) {}

Result<void> PipePair::join(Connection& a, Connection& b, const PipeOptions& options,
                            Callback<void(PipeReport)> on_done) {
  for (Connection* side : {&a, &b}) {
    PEAL_ASSERT(!side->is_piped(), "connection {} is piped twice", side->slot);
    if (!side->can_be_piped()) return fail(ENOTCONN);
  }
  (new PipePair(a, b, options.splice, std::move(on_done)))->start();
  return {};
}

void PipePair::start() {
  for (Side& side : sides_) side.connection->enter_pipe(*this);
  for (Side& side : sides_) {
    if (!side.connection->has(Connection::kKeptInput)) continue;
    Buffer kept = side.connection->take_kept();
    received(*side.connection, kept);
  }
  for (Side& side : sides_) {
    if (side.connection->peer_ended_) peer_ended(*side.connection);
  }
  follow();
}

bool PipePair::may_read(const Side& from, const Side& to) const {
  if (from.connection == nullptr || to.connection == nullptr) return false;
  const Connection& reader = *from.connection;
  const Connection& writer = *to.connection;
  return reader.is_open() && writer.is_open() && reader.read_stops_ == 0 && !reader.peer_ended_ &&
         !writer.stopped_by(Connection::kOverBudget) && !writer.has(Connection::kAboveHighWater);
}

void PipePair::follow() {
  follow(sides_[0], sides_[1]);
  follow(sides_[1], sides_[0]);
}

void PipePair::follow(Side& from, const Side& to) {
  if (from.connection == nullptr || !from.connection->is_open()) return;
  StreamPort& port = from.connection->port();
  const StreamId stream = from.connection->stream_;
  if (!may_read(from, to)) {
    from.forwarding = false;
    return port.receive(stream, false);
  }
  if (from.forwarding) return;
  splice_ = splice_ && &port == &to.connection->port();
  from.forwarding = splice_ && port.forward(stream, to.connection->stream_);
  if (from.forwarding) return;
  port.receive(stream, true);
  if (!splice_) return;
  // Once the queue is out it is tried again; an engine that cannot then never will.
  splice_ = to.connection->queued_bytes() > 0;
  if (splice_) port.report_sent(to.connection->stream_);
}

void PipePair::received(Connection& from, Buffer& bytes) {
  const size_t index = index_of(from);
  Side& to = sides_[1 - index];
  if (to.connection == nullptr || !to.connection->is_open()) return bytes.clear();
  sides_[index].received_bytes += bytes.size();
  to.connection->send(std::move(bytes));
}

void PipePair::drained(Connection& to, size_t left_bytes) {
  if (left_bytes > to.high_water_bytes_ / 2) return;
  to.set_slow_path(Connection::kAboveHighWater, false);
  follow();
}

void PipePair::peer_ended(Connection& from) {
  Side& to = other(from);
  sides_[index_of(from)].forwarding = false;
  if (to.connection != nullptr) to.connection->shutdown_send();
}

void PipePair::ended(Connection& side, bool hard) {
  if (side.reason_ == CloseReason::kDrainDeadline) drains_ = side.set_->drains();
  for (Side& each : sides_) {
    if (!std::exchange(each.forwarding, false)) continue;
    each.connection->port().receive(each.connection->stream_, false);
  }
  Connection* rest = other(side).connection;
  if (rest == nullptr || !rest->is_open()) return;
  if (hard) return rest->end(CloseReason::kPipeEnded, CloseHow::kReset);
  rest->end_gracefully(rest->peer_ended_ ? CloseReason::kPeerClosed : CloseReason::kPipeEnded);
}

void PipePair::count_spliced() {
  for (size_t i = 0; i < sides_.size(); ++i) {
    Side& from = sides_[i];
    if (from.connection == nullptr || from.connection->life() == ConnectionLife::kClosed) continue;
    const uint64_t now = from.connection->port().forwarded_bytes(from.connection->stream_);
    if (now <= from.spliced_bytes) continue;
    const uint64_t more = now - std::exchange(from.spliced_bytes, now);
    from.received_bytes += more;
    from.connection->count_spliced(more, 0);
    if (Connection* to = sides_[1 - i].connection) to->count_spliced(0, more);
  }
}

uint64_t PipePair::moved_bytes() {
  count_spliced();
  return sides_[0].received_bytes + sides_[1].received_bytes;
}

void PipePair::gone(Connection& side) {
  Side& one = sides_[index_of(side)];
  one.connection = nullptr;
  one.forwarding = false;
  if (sides_[0].connection != nullptr || sides_[1].connection != nullptr) return;
  const std::unique_ptr<PipePair> last(this);
  if (sides_[0].set->retired() || sides_[1].set->retired()) return;
  one.set->call(on_done_, PipeReport{sides_[0].received_bytes, sides_[1].received_bytes});
}

}  // namespace peal::detail
