// SPDX-License-Identifier: BSD-3-Clause
// How HTTP's parser looks for the ends of names, values and targets: chosen once, when the program starts, by what the
// processor has. All kinds give the same answers; a test holds them against each other.
#pragma once

#include <cstdint>

namespace peal {

enum class ScanKind : uint8_t {
  kPortable,  // by table, a byte at a time
  kSsse3,     // 16 bytes at a time
  kAvx2,      // 32 bytes at a time
};
inline constexpr int kScanKinds = 3;

// Any thread.
ScanKind scan_kind();
bool has_scan(ScanKind kind);
// For tests and comparisons; `kind` must be one that the processor has. Not while another thread parses.
void force_scan(ScanKind kind);

}  // namespace peal
