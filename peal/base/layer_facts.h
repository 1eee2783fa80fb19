// SPDX-License-Identifier: BSD-3-Clause
// What can be told of a layer over the kernel's streams, TLS say, as plain values (peal/engine/stream_port.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace peal {

// What a layer has agreed on with the peer of an open stream. `protocol` and `cipher`: "TLSv1.3" and
// "TLS_AES_128_GCM_SHA256". `application`: what is spoken over it (ALPN, RFC 7301); empty: not agreed on. `peer`: the
// subject of the peer's verified certificate (RFC 4514); empty: it gave none.
struct LayerFacts {
  std::string protocol, cipher, application, peer;
  std::vector<std::string> names;  // the subject's alternative ones: "DNS:example.org", "URI:spiffe://..."
  bool resumed = false;            // an earlier session goes on
};

// Of a layer with all its ports, since it was made. `handshakes` that are done, and `resumed` of those; those that
// `failed`, by what the peer said or did, and of those where it spoke `in_the_clear`; those `under_way` now. What a
// connection's owner ended, by its deadline say, is none of these (NetStats::handshakes_failed). Its files were read
// anew, and where they were no good (`reloads_failed`) what was there went on.
struct LayerStats {
  uint64_t handshakes = 0, resumed = 0, failed = 0, in_the_clear = 0, under_way = 0, reloads = 0, reloads_failed = 0;
  std::chrono::sys_seconds valid_until = {};  // the end of its certificate that ends first; 0: it has none
};

}  // namespace peal
