// SPDX-License-Identifier: BSD-3-Clause
// How much an engine moves in one turn, so that nobody waits long for others: the same for all engines.
#pragma once

#include <cstddef>

namespace peal::detail {

// Received by one stream; then the others come first.
inline constexpr size_t kReceiveTurnBytes = 256 * 1024;
// Sent in bulk by all streams together: files, and of output in memory what is beyond one send.
inline constexpr size_t kBulkTurnBytes = 1024 * 1024;
// Of that, by one stream while others wait.
inline constexpr size_t kBulkShareBytes = kBulkTurnBytes / 4;

}  // namespace peal::detail
