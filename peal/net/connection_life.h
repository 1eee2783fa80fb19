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
  // The connection has not begun, or has ended. After its end, the connection waits for the last completion of its
  // port. on_close is called at that completion.
  kClosed,
  // The port is connecting, for at most the Client's connect_timeout. Or the stream was accepted by a full server, and
  // the connection opens when an evicted connection has been released (ServerOptions::max_connections).
  kConnecting,
  // The layer is in its handshake, either before on_open or after start_layer(). After handshake_timeout, the timer
  // ends the connection.
  kHandshaking,
  // The connection is open, and in none of the special states from kShowing to kPiped. is_open() is true for all states
  // from kOpen to kPiped.
  kOpen,
  // resume() was called, and on_message had left input unconsumed. In the loop's next turn the timer passes that input
  // to on_message, before anything else is read.
  kShowing,
  // Receiving is paused, because pause() was called.
  kPaused,
  // Receiving is paused, and the connection to the peer is lost. The user may still call resume(), which passes the
  // kept input to on_message. After linger_timeout, the timer ends the connection.
  kOrphaned,
  // Sending has failed. Input that the peer sent before is still read; then the connection ends.
  kReadingOut,
  // All input is sent to another connection (pipe.h).
  kPiped,
  // The connection ends gracefully: FIN is queued after the output. Every quarter of linger_timeout, the timer checks
  // whether the peer has acknowledged everything.
  kEnding,
  // The peer has acknowledged everything. The connection waits only for the peer's FIN, or for room to send the end
  // mark of this side's layer. The timer ends the connection after three quarters of linger_timeout.
  kLingering,
};

constexpr bool is_open(ConnectionLife life) { return life >= ConnectionLife::kOpen && life <= ConnectionLife::kPiped; }

namespace detail {

struct ConnectionLifeRow {
  std::string_view name;
  uint16_t next;  // one bit for each state that may follow this one
};

constexpr uint16_t life_bits(auto... states) {
  return static_cast<uint16_t>(((1U << static_cast<unsigned>(states)) | ...));
}

// The table of states, with one row for each state in the order of ConnectionLife.
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
