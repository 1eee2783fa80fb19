// SPDX-License-Identifier: BSD-3-Clause
// How much an engine moves in one turn, so that nobody waits long for others: the same for all engines.
#pragma once

#include <cstddef>

#include <peal/base/memory/block_pool.h>

namespace peal::detail {

// Received at once by one stream of which more than a block has come.
inline constexpr size_t kMostReceiveBytes = 4 * size_t{kLargeBlockBytes};
// Received by one stream; then the others come first.
inline constexpr size_t kReceiveTurnBytes = 256 * 1024;
// Sent in bulk by all streams together: files, and of output in memory what is beyond one send.
inline constexpr size_t kBulkTurnBytes = 1024 * 1024;
// Of that, by one stream while others wait.
inline constexpr size_t kBulkShareBytes = kBulkTurnBytes / 4;

}  // namespace peal::detail
