// SPDX-License-Identifier: BSD-3-Clause
// Selects the instructions with which the HTTP parser searches for the ends of names, values and targets. The program
// chooses the fastest kind that the processor supports, once, when it starts. All kinds give the same results, which a
// test compares.
#pragma once

#include <cstdint>

namespace peal {

// The kinds of instructions that search a text.
enum class ScanKind : uint8_t {
  kPortable,  // looks up one byte at a time in a table; works on every processor
  kSsse3,     // 16 bytes at a time
  kAvx2,      // 32 bytes at a time
};
inline constexpr int kScanKinds = 3;

// Returns the kind in use. May be called by any thread.
ScanKind scan_kind();

// True if the processor supports the kind. May be called by any thread.
bool has_scan(ScanKind kind);

// Changes the kind in use, for tests and benchmarks. Asserts that the processor supports `kind`. Must not be called
// while another thread parses.
void force_scan(ScanKind kind);

}  // namespace peal
