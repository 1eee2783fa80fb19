// SPDX-License-Identifier: BSD-3-Clause
// ConnectionLife: the states of a connection, and which state may follow which. Connection::enter() is the only place
// where the state changes; it asserts may_follow(). Each state has at most one timer, which entering another one ends.
//
//                     ┌─> handshaking ─┐                ┌─> ending ──> lingering ─┐
//   closed ──> connecting ─────────────┴─> open ⇄ ... ──┴─────────────────────────┴──> closed
//
// Beside the state stand what does not depend on it: who has sent FIN, who asked for the end, whether a place is
// waited for, and Connection::ReadStop, the mask of reasons not to read. A connection reads if the mask is empty.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace peal {

enum class ConnectionLife : uint8_t {
  // Not begun, or over. When it is over only the port's last completion is still to come, and on_close with it.
  kClosed,
  // The port connects, in the time that the Client gives it. Or the stream is there and waits for the place of a
  // connection that is being evicted (ServerOptions::max_connections).
  kConnecting,
  // A layer shakes hands, for the first time or after start_layer(). Timer: handshake_timeout.
  kHandshaking,
  // The states from here to kPiped are open: is_open().
  kOpen,
  // Input that was kept is shown in the loop's next turn, before anything else is read. Timer: no time.
  kShowing,
  // By pause().
  kPaused,
  // Paused, and the peer is gone. Timer: linger_timeout, in which resume() still shows what was kept.
  kOrphaned,
  // Sending has failed. What the peer sent before is still read, and the end follows.
  kReadingOut,
  // Its input goes to another connection (pipe.h).
  kPiped,
  // FIN is queued. Timer: a quarter of linger_timeout, then a look whether the peer has acknowledged everything.
  kEnding,
  // The peer has everything; only its FIN is missing, or room for the end mark of our layer. Timer: the rest of
  // linger_timeout.
  kLingering,
};

constexpr bool is_open(ConnectionLife life) { return life >= ConnectionLife::kOpen && life <= ConnectionLife::kPiped; }

namespace detail {

struct ConnectionLifeRow {
  std::string_view name;
  uint16_t next;  // a bit for each state that may follow
};

constexpr uint16_t life_bits(auto... states) {
  return static_cast<uint16_t>(((1U << static_cast<unsigned>(states)) | ...));
}

// In the order of ConnectionLife.
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

constexpr std::string_view to_string(ConnectionLife life) {
  return detail::kConnectionLife.at(static_cast<size_t>(life)).name;
}
constexpr bool may_follow(ConnectionLife from, ConnectionLife to) {
  return (detail::kConnectionLife.at(static_cast<size_t>(from)).next & detail::life_bits(to)) != 0;
}

}  // namespace peal
