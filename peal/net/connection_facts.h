// SPDX-License-Identifier: BSD-3-Clause
// What can be told of one connection now, as plain values. Made by Connection::facts().
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/base/socket_address.h>
#include <peal/engine/engine.h>

namespace peal {

struct ConnectionFacts {
  // Names it among the connections of its server on its loop, for one life.
  uint32_t slot = 0;
  uint32_t generation = 0;
  SocketAddress local;  // not set when the socket has forgotten
  SocketAddress peer;
  std::string_view state;  // to_string() of its ConnectionLife
  Duration age{};          // since it was opened, to 67 ms; in its tenth year it begins anew
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;            // accepted for sending
  size_t queued_bytes = 0;            // of those, here
  uint64_t unacknowledged_bytes = 0;  // of those, in the kernel (SIOCOUTQ)
  size_t kept_bytes = 0;              // received, and left unconsumed by the callback
  bool paused = false;                // by pause()
  bool above_high_water = false;
  bool piped = false;
  bool peer_ended = false;
  std::optional<TcpFacts> tcp;      // none: no TCP
  std::optional<LayerFacts> layer;  // none: no layer
};

}  // namespace peal
