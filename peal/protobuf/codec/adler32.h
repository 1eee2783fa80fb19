// SPDX-License-Identifier: BSD-3-Clause
// Adler-32 (RFC 1950 8.2 and 9) is the checksum of muduo's two protobuf formats. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace peal {

// The checksum of an empty input.
inline constexpr uint32_t kAdler32OfNothing = 1;

// Returns the checksum of `bytes`. If `before` is the checksum of earlier bytes, returns the checksum of the earlier
// bytes followed by `bytes`. The checksum of data in several pieces is computed in this way.
uint32_t adler32_of(std::string_view bytes, uint32_t before = kAdler32OfNothing);

}  // namespace peal
