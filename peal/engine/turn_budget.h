// SPDX-License-Identifier: BSD-3-Clause
// Limits in bytes on what an engine moves in one turn, so that no stream waits long for the others. All engines use
// the same limits.
#pragma once

#include <cstddef>

#include <peal/base/memory/block_pool.h>

namespace peal::detail {

// Most bytes that one read of a stream takes, if more than one block has arrived.
inline constexpr size_t kMostReceiveBytes = 4 * size_t{kLargeBlockBytes};
// Most bytes that one stream receives in a turn. After that, the other streams are served first.
inline constexpr size_t kReceiveTurnBytes = 256 * 1024;
// Most bytes that all streams together send in bulk in a turn. Files are bulk, and so is output in memory beyond a
// stream's first send.
inline constexpr size_t kBulkTurnBytes = 1024 * 1024;
// Most bytes of kBulkTurnBytes that one stream may use while other streams wait for them.
inline constexpr size_t kBulkShareBytes = kBulkTurnBytes / 4;

}  // namespace peal::detail
