// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/connection_facts.h>

#include <array>

#include <peal/loop/loop.h>
#include <peal/net/connection.h>
#include <peal/net/parts/connection_set.h>
#include <peal/net/parts/tracked.h>

namespace peal {

ConnectionFacts Connection::facts() const {
  ConnectionFacts facts{.slot = slot, .generation = generation};
  facts.local = local_address().value_or(SocketAddress());
  facts.peer = peer_address().value_or(SocketAddress());
  constexpr std::array<std::string_view, 4> kStates{"connecting", "open", "closing", "closed"};
  facts.state = kStates.at(static_cast<size_t>(fast_path_.state));
  if (was_open_) facts.age = Duration(int64_t{age_stamp(loop().now()) - opened_at_} << kAgeShift);
  facts.received_bytes = received_bytes_;
  facts.sent_bytes = sent_bytes_;
  facts.queued_bytes = queued_bytes();
  facts.unacknowledged_bytes = port_->unsent_bytes(stream_);
  facts.kept_bytes = input_.size();
  facts.paused = paused_;
  facts.above_high_water = has(kAboveHighWater);
  facts.piped = has(kPiped);
  facts.peer_ended = peer_ended_;
  if (const Result<TcpFacts> tcp = port_->tcp_facts(stream_)) facts.tcp = *tcp;
  if (Result<LayerFacts> layer = layer_facts()) facts.layer = std::move(*layer);
  return facts;
}

// What it keeps of the process's memory: input for the callback, or for a layer that it starts.
size_t Connection::memory_bytes() const { return port_->held_bytes(stream_) + input_.held_bytes(); }

}  // namespace peal
