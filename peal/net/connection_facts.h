// SPDX-License-Identifier: BSD-3-Clause
// ConnectionFacts: what is known about one connection at one moment, as plain values. Made by Connection::facts().
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/base/socket_address.h>
#include <peal/engine/engine.h>

namespace peal {

struct ConnectionFacts {
  // `slot` and `generation` identify the connection among those of its server on its loop. `generation` changes when
  // the slot is used again.
  uint32_t slot = 0;
  uint32_t generation = 0;
  // `local` and `peer` are the connection's addresses. An address is unset if the socket no longer knows it.
  SocketAddress local;
  SocketAddress peer;
  // Name of the connection's state, as to_string(ConnectionLife) returns it.
  std::string_view state;
  // Time since the connection was opened, in steps of 67 ms. Wraps around to 0 after about nine years.
  Duration age{};

  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;  // accepted for sending
  size_t queued_bytes = 0;  // the part of sent_bytes that this process still queues
  uint64_t unacknowledged_bytes =
      0;                  // the part of sent_bytes that the kernel holds and the peer has not acknowledged (SIOCOUTQ)
  size_t kept_bytes = 0;  // received, and left unconsumed by on_message
  bool paused = false;    // by pause()
  bool above_high_water = false;
  bool piped = false;
  bool peer_ended = false;
  std::optional<TcpFacts> tcp;      // nullopt if the stream is not TCP
  std::optional<LayerFacts> layer;  // nullopt if there is no layer
};

}  // namespace peal
