// SPDX-License-Identifier: BSD-3-Clause
// sha1() computes SHA-1 (FIPS 180-4). Use it for Sec-WebSocket-Accept only (RFC 6455 4.2.2). That field proves that the
// peer speaks WebSocket and protects no secret, so the known attacks on SHA-1 do not matter. peal has its own SHA-1
// because peal/wire does not depend on OpenSSL. Pure function; any thread.
#pragma once

#include <array>
#include <string_view>

namespace peal::detail {

using Sha1Digest = std::array<char, 20>;

Sha1Digest sha1(std::string_view bytes);

}  // namespace peal::detail
