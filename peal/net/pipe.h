// SPDX-License-Identifier: BSD-3-Clause
// pipe(a, b): joins two connections so that what each receives is sent to the other, until both have ended.
//
//   peal::pipe(client, upstream, {}, [](peal::PipeReport report) { log(report.a_to_b_bytes, report.b_to_a_bytes); });
//
// Blocks are moved, never copied; with PipeOptions::splice, where the engine can, bytes stay in the kernel. A side
// whose output is above its high-water mark, or full in the kernel, stops the reading of the other.
//
// Ends. The FIN of one side is sent on to the other once all before it is out; when both have sent theirs both close,
// with CloseReason::kPeerClosed. A side that is closed ends the other gracefully; one that fails, is reset or aborted
// resets the other: CloseReason::kPipeEnded.
//
// While piped, on_message, on_writable and on_peer_end of both are silent; on_close comes as ever. pause() and resume()
// work; what the user sends goes out between the peer's bytes. received_bytes() and sent_bytes() are right in on_close;
// before it they lack what was spliced. An idle pipe costs about 200 bytes, and what Engine::forward says.
#pragma once

#include <cstdint>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/net/connection.h>

namespace peal {

struct PipeOptions {
  bool splice = true;
};

// What went through. Bytes that were spliced and dropped by the end of the loop are not in it.
struct PipeReport {
  uint64_t a_to_b_bytes = 0;
  uint64_t b_to_a_bytes = 0;
};

// Both are open, two, and not piped: asserts. EXDEV: they belong to different loops. ENOTCONN: one is ending, or its
// peer is gone. Input that either has kept goes first. `on_done` is called after on_close of both, on the loop, unless
// the Server or Client of one was destroyed before.
Result<void> pipe(Connection& a, Connection& b, const PipeOptions& options = {},
                  Callback<void(PipeReport)> on_done = nullptr);

}  // namespace peal
