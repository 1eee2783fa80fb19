// SPDX-License-Identifier: BSD-3-Clause
// ConnectionLife: the states of a connection, and which state may follow which. Connection::enter() is the only place
// where the state changes; it asserts may_follow(). Each state has at most one timer, which is cancelled when the
// connection enters another state.
//
//                     ┌─> handshaking ─┐                ┌─> ending ──> lingering ─┐
//   closed ──> connecting ─────────────┴─> open ⇄ ... ──┴─────────────────────────┴──> closed
//
// Facts that may hold in several states are kept beside the state: which side has sent FIN, which side asked for the
// end, whether the connection waits for another's place. Connection::ReadStop, the mask of reasons not to read, is kept
// beside it too: a connection reads if the mask is empty.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace peal {

enum class ConnectionLife : uint8_t {
  // The connection has not begun, or is over. When it is over, only the port's last completion is still to come, and
  // on_close with it.
  kClosed,
  // The port is connecting, within the Client's connect_timeout. Or an accepted stream waits until a connection that is
  // being evicted has been released (ServerOptions::max_connections).
  kConnecting,
  // The layer does its handshake, either the first one or that of start_layer(). Timer: handshake_timeout.
  kHandshaking,
  // A plain open connection. is_open() is true for the states from this one to kPiped.
  kOpen,
  // Resumed with input that on_message had left. on_message is called with it in the loop's next turn, before anything
  // else is read. Timer: zero.
  kShowing,
  // Receiving is paused, by pause().
  kPaused,
  // Paused, and the peer is gone. Timer: linger_timeout, during which resume() still shows the kept input.
  kOrphaned,
  // Sending has failed. Input that the peer sent before is still read; then the connection ends.
  kReadingOut,
  // Input goes to another connection (pipe.h).
  kPiped,
  // FIN is queued after the output. Timer: every quarter of linger_timeout, check whether the peer has acknowledged
  // all.
  kEnding,
  // The peer has acknowledged everything. Only its FIN is missing, or room for the end mark of this side's layer.
  // Timer: the rest of linger_timeout.
  kLingering,
};

constexpr bool is_open(ConnectionLife life) { return life >= ConnectionLife::kOpen && life <= ConnectionLife::kPiped; }

namespace detail {

struct ConnectionLifeRow {
  std::string_view name;
  uint16_t next;  // one bit for each state that may follow
};

constexpr uint16_t life_bits(auto... states) {
  return static_cast<uint16_t>(((1U << static_cast<unsigned>(states)) | ...));
}

// One row for each state, in the order of ConnectionLife.
constexpr std::array kConnectionLife = [] {
  using enum ConnectionLife;
  return std::array{
      ConnectionLifeRow{"closed", life_bits(kConnecting)},
      ConnectionLifeRow{"connecting", life_bits(kHandshaking, kOpen, kClosed)},
      ConnectionLifeRow{"handshaking", life_bits(kConnecting, kOpen, kClosed)},
      ConnectionLifeRow{"open", life_bits(kHandshaking, kPaused, kReadingOut, kPiped, kEnding, kLingering, kClosed)},
      ConnectionLifeRow{"showing", life_bits(kHandshaking, kOpen, kPaused, kPiped, kEnding, kLingering, kClosed)},
      ConnectionLifeRow{"paused",
                        life_bits(kHandshaking, kOpen, kShowing, kOrphaned, kPiped, kEnding, kLingering, kClosed)},
      ConnectionLifeRow{"orphaned", life_bits(kHandshaking, kOpen, kShowing, kPiped, kEnding, kLingering, kClosed)},
      ConnectionLifeRow{"reading out", life_bits(kEnding, kLingering, kClosed)},
      ConnectionLifeRow{"piped", life_bits(kEnding, kLingering, kClosed)},
      ConnectionLifeRow{"ending", life_bits(kLingering, kClosed)},
      ConnectionLifeRow{"lingering", life_bits(kClosed)},
  };
}();

}  // namespace detail

// Returns the name of the state as it is shown in logs and in ConnectionFacts::state.
constexpr std::string_view to_string(ConnectionLife life) {
  return detail::kConnectionLife.at(static_cast<size_t>(life)).name;
}

// Returns whether the state machine allows the change from `from` to `to`.
constexpr bool may_follow(ConnectionLife from, ConnectionLife to) {
  return (detail::kConnectionLife.at(static_cast<size_t>(from)).next & detail::life_bits(to)) != 0;
}

}  // namespace peal
