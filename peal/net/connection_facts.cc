// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/connection_facts.h>

#include <cerrno>

#include <peal/loop/loop.h>
#include <peal/net/connection.h>
#include <peal/net/parts/connection_set.h>
#include <peal/net/parts/tracked.h>

namespace peal {

// Flags in error_ that tell the category of its value: kOfTrouble means trouble_category(), kOfPort means the port's
// errors(). If neither flag is set, the value is an errno.
constexpr unsigned kOfTrouble = 0x4000;
constexpr unsigned kOfPort = 0x8000;

// Stores the error of the socket or the layer for on_close. Returns the CloseReason that follows from the error.
CloseReason Connection::note_error(std::error_code error) {
  const bool of_port = error.category() == port_->errors();
  const unsigned category = error.category() == trouble_category() ? kOfTrouble : of_port ? kOfPort : 0;
  const auto packed = static_cast<uint16_t>(static_cast<unsigned>(error.value()) | category);
  if (!refused_) error_ = packed;
  if (error == Trouble::kTruncated) return CloseReason::kTruncated;
  return packed == ECONNRESET || packed == EPIPE ? CloseReason::kReset : CloseReason::kFailed;
}

void Connection::mark_refused(Trouble why) {
  if (refused_ || !(is_open() || is_beginning())) return;
  note_error(why);
  refused_ = true;
  ++set_->stats().bad_messages;
}

CloseReason Connection::shown_reason() const {
  if (!refused_) return reason_;
  return error() == Trouble::kTruncated ? CloseReason::kTruncated : CloseReason::kBadMessage;
}

std::error_code Connection::error() const {
  const int value = error_ % kOfTrouble;
  if (error_ & kOfPort) return {value, port_->errors()};
  if (error_ & kOfTrouble) return {value, trouble_category()};
  return error_ == 0 ? std::error_code{} : errno_code(value);
}

ConnectionFacts Connection::facts() const {
  ConnectionFacts facts{.slot = slot, .generation = generation};
  facts.local = local_address().value_or(SocketAddress());
  facts.peer = peer_address().value_or(SocketAddress());
  facts.state = to_string(fast_path_.state);
  facts.age = detail::ConnectionSet::age(*this);
  facts.received_bytes = received_bytes_;
  facts.sent_bytes = sent_bytes_;
  facts.queued_bytes = queued_bytes();
  facts.unacknowledged_bytes = port_->unsent_bytes(stream_);
  facts.kept_bytes = input_.size();
  facts.paused = stopped_by(kByUser);
  facts.above_high_water = has(kAboveHighWater);
  facts.piped = is_piped();
  facts.peer_ended = peer_ended_;
  if (const Result<TcpFacts> tcp = port_->tcp_facts(stream_)) facts.tcp = *tcp;
  if (Result<LayerFacts> layer = layer_facts()) facts.layer = std::move(*layer);
  return facts;
}

uint64_t Connection::arrived_bytes() const { return received_bytes_ + port_->withheld_bytes(stream_); }

// Returns how much of the process's memory the connection holds: queued output, kept input, input that the layer has
// not delivered, and input that the protocol holds elsewhere (count_gathered()).
size_t Connection::memory_bytes() const {
  const size_t gathered = tracked_ ? tracked_->gathered_bytes : 0;
  return port_->held_bytes(stream_) + input_.held_bytes() + port_->held_input_bytes(stream_) + gathered;
}

void Connection::count_gathered(size_t held_bytes) {
  if (held_bytes > 0 || tracked_) tracked().gathered_bytes = held_bytes;
}

}  // namespace peal
