// SPDX-License-Identifier: BSD-3-Clause
// Adler-32 (RFC 1950 8.2 and 9), the checksum of muduo's two protobuf formats. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace peal {

inline constexpr uint32_t kAdler32OfNothing = 1;

// The checksum of `bytes`; or, where `before` is that of other bytes, the checksum of those followed by `bytes`.
uint32_t adler32_of(std::string_view bytes, uint32_t before = kAdler32OfNothing);

}  // namespace peal
