// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/pipe_pair.h>

#include <cerrno>
#include <utility>

#include <peal/net/parts/tracked.h>

namespace peal::detail {

PipePair::PipePair(Connection& a, Connection& b, bool splice, Callback<void(PipeReport)> on_done)
    : sides_{Side{&a, ConnectionSet::set_of(a)}, Side{&b, ConnectionSet::set_of(b)}},
      splice_(splice),
      on_done_(std::move(on_done)) {}

Result<void> PipePair::join(Connection& a, Connection& b, const PipeOptions& options,
                            Callback<void(PipeReport)> on_done) {
  for (Connection* side : {&a, &b}) {
    PEAL_ASSERT(side->life() != ConnectionLife::kPiped, "a connection is piped twice");
    if (!ConnectionSet::can_be_piped(*side)) return fail(ENOTCONN);
  }
  (new PipePair(a, b, options.splice, std::move(on_done)))->start();
  return {};
}

void PipePair::start() {
  for (Side& side : sides_) ConnectionSet::enter_pipe(*side.connection, *this);
  for (Side& side : sides_) {
    if (Buffer kept = ConnectionSet::take_kept(*side.connection); !kept.empty()) received(*side.connection, kept);
  }
  for (Side& side : sides_) {
    if (ConnectionSet::peer_ended(*side.connection)) peer_ended(*side.connection);
  }
  start_or_stop_reading();
}

void PipePair::start_or_stop_reading() {
  start_or_stop_reading(sides_[0], sides_[1]);
  start_or_stop_reading(sides_[1], sides_[0]);
}

void PipePair::start_or_stop_reading(Side& from, const Side& to) {
  if (from.connection == nullptr || !from.connection->is_open()) return;
  Connection& reader = *from.connection;
  if (to.connection == nullptr || !ConnectionSet::can_be_read(reader) ||
      !ConnectionSet::can_be_sent_to(*to.connection)) {
    from.forwarding = false;
    return ConnectionSet::receive(reader, false);
  }
  if (from.forwarding) return;
  Connection& writer = *to.connection;
  splice_ = splice_ && ConnectionSet::share_port(reader, writer);
  from.forwarding = splice_ && ConnectionSet::forward(reader, writer);
  if (from.forwarding) return;
  ConnectionSet::receive(reader, true);
  if (!splice_) return;
  // The engine did not splice. If output is queued, that is the reason, and splicing is tried again when the queue has
  // drained. If no output is queued, the engine cannot splice these two streams at all, and is not asked again.
  splice_ = writer.queued_bytes() > 0;
  if (splice_) ConnectionSet::report_sent(writer);
}

void PipePair::received(Connection& from, Buffer& bytes) {
  const size_t index = index_of(from);
  Side& to = sides_[1 - index];
  if (to.connection == nullptr || !to.connection->is_open()) return bytes.clear();
  sides_[index].received_bytes += bytes.size();
  to.connection->send(std::move(bytes));
}

void PipePair::drained(Connection& to, size_t left_bytes) {
  if (ConnectionSet::drained(to, left_bytes)) start_or_stop_reading();
}

void PipePair::peer_ended(Connection& from) {
  Side& to = other(from);
  sides_[index_of(from)].forwarding = false;
  if (to.connection != nullptr) to.connection->shutdown_send();
}

void PipePair::ended(Connection& side, bool hard) {
  if (ConnectionSet::cut_by_drain(side)) drains_ = sides_[index_of(side)].set->drains();
  for (Side& each : sides_) {
    if (!std::exchange(each.forwarding, false)) continue;
    ConnectionSet::receive(*each.connection, false);
  }
  Connection* const rest = other(side).connection;
  if (rest != nullptr && rest->is_open()) ConnectionSet::end_piped(*rest, hard);
}

void PipePair::count_spliced() {
  for (size_t i = 0; i < sides_.size(); ++i) {
    Side& from = sides_[i];
    if (from.connection == nullptr || from.connection->life() == ConnectionLife::kClosed) continue;
    const uint64_t now = ConnectionSet::forwarded_bytes(*from.connection);
    if (now <= from.spliced_bytes) continue;
    const uint64_t more = now - std::exchange(from.spliced_bytes, now);
    from.received_bytes += more;
    ConnectionSet::count_spliced(*from.connection, more, 0);
    if (Connection* to = sides_[1 - i].connection) ConnectionSet::count_spliced(*to, 0, more);
  }
}

uint64_t PipePair::moved_bytes() {
  count_spliced();
  return sides_[0].received_bytes + sides_[1].received_bytes;
}

void PipePair::side_released(Connection& side) {
  Side& one = sides_[index_of(side)];
  one.connection = nullptr;
  one.forwarding = false;
  if (sides_[0].connection != nullptr || sides_[1].connection != nullptr) return;
  const std::unique_ptr<PipePair> last(this);
  if (sides_[0].set->retired() || sides_[1].set->retired()) return;
  one.set->call(on_done_, PipeReport{sides_[0].received_bytes, sides_[1].received_bytes});
}

}  // namespace peal::detail
