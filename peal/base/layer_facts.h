// SPDX-License-Identifier: BSD-3-Clause
// Facts and counters of a layer that runs over the kernel's streams, such as TLS (peal/engine/stream_port.h). Plain
// values: any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace peal {

// The parameters that a layer, such as TLS, has negotiated with the peer of one open stream.
struct LayerFacts {
  // `protocol` and `cipher` are names such as "TLSv1.3" and "TLS_AES_128_GCM_SHA256". `application` is the protocol
  // that both sides chose by ALPN (RFC 7301), and empty if they chose none. `peer` is the subject of the peer's
  // verified certificate (RFC 4514), and empty if the peer sent no certificate.
  std::string protocol, cipher, application, peer;
  std::vector<std::string> names;  // the certificate's alternative names: "DNS:example.org", "URI:spiffe://..."
  bool resumed = false;            // true if an earlier session was resumed
};

// Counters of a layer, summed over all streams that have used the layer since it was created.
struct LayerStats {
  // Handshakes:
  //   handshakes    completed
  //   resumed       completed by resuming an earlier session; also in `handshakes`
  //   failed        failed because of bytes that the peer sent, or because the peer closed
  //   in_the_clear  failed because the peer sent bytes that are not of the layer's protocol; also in `failed`
  //   under_way     in progress now
  // A handshake that the connection's owner ended, by its deadline for example, is in none of these. It is counted in
  // NetStats::handshakes_failed.
  //
  // Certificate files:
  //   reloads         the files were read again and are in use
  //   reloads_failed  the files were read again and had an error, so the earlier contents stay in use
  uint64_t handshakes = 0, resumed = 0, failed = 0, in_the_clear = 0, under_way = 0, reloads = 0, reloads_failed = 0;
  std::chrono::sys_seconds valid_until = {};  // the earliest expiry of the layer's certificates; 0 if there is none
};

}  // namespace peal
