// SPDX-License-Identifier: BSD-3-Clause
// Limits in bytes on what an engine moves in one turn, so that no stream waits long for the others. All engines use
// the same limits.
#pragma once

#include <cstddef>

#include <peal/base/memory/block_pool.h>

namespace peal::detail {

// The largest number of bytes that one read of a stream takes. Used only if more than one block has arrived; otherwise
// a read takes at most one block.
inline constexpr size_t kMostReceiveBytes = 4 * size_t{kLargeBlockBytes};
// The largest number of bytes that one stream receives in a turn. A stream with more input continues after the other
// streams were served.
inline constexpr size_t kReceiveTurnBytes = 256 * 1024;
// The largest number of bytes that all streams together send in bulk in one turn. Bulk is every file range, and the
// output in memory that is left after a stream's first send.
inline constexpr size_t kBulkTurnBytes = 1024 * 1024;
// The largest number of bytes of kBulkTurnBytes that one stream may use while other streams wait to send in bulk, too.
inline constexpr size_t kBulkShareBytes = kBulkTurnBytes / 4;

}  // namespace peal::detail
