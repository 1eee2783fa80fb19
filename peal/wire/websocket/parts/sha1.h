// SPDX-License-Identifier: BSD-3-Clause
// SHA-1 (FIPS 180-4), for Sec-WebSocket-Accept alone (RFC 6455 4.2.2): there it proves that the peer speaks WebSocket
// and guards no secret, so that SHA-1 being broken does not matter. Here because this floor has no OpenSSL, and a
// handshake is too little to pull it in. Pure; any thread.
#pragma once

#include <array>
#include <string_view>

namespace peal::detail {

using Sha1Digest = std::array<char, 20>;

Sha1Digest sha1(std::string_view bytes);

}  // namespace peal::detail
