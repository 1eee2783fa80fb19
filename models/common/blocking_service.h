// SPDX-License-Identifier: BSD-3-Clause
// The service of the blocking models: the calling thread serves one connection until it ends, with blocking reads and
// writes. Accepting and counting are here too. When SIGTERM or SIGINT arrives, the object `sleepers` wakes the blocked
// threads. `sleepers` is null in a model whose processes are killed by the signal instead.
//
//   accept_next ─> count ──> serve_and_count: read ─> frames ─> work ─> write ──> ... until the client ends ──> count
//   ──> close
#pragma once

#include <models/common/model_options.h>
#include <models/common/statistics.h>
#include <models/model_table.h>

namespace peal::models {

// Waits for the next connection of `listener`, counts it in `statistics` as accepted, and returns its socket. If no fd
// or memory is free for another connection, tries again after a short pause. Returns an empty Fd in one of these cases:
// - The listener was shut down.
// - No fd or memory is free, and sleepers->stopping() is true. In this case, accept(2) may not report the shutdown.
// `sleepers` may be null. A model passes null if SIGTERM kills its processes, because no thread has to be woken in the
// model.
Fd accept_next(int listener, Statistics& statistics, const BlockedThreads* sleepers = nullptr);

// Serves a connection: reads, parses frames, does the work of each frame, and writes the answers. Counts the requests
// and the end of the connection in `tally`. Does not close `socket`. Returns in one of these cases:
// - The client has closed the connection, or the connection has failed.
// - A frame is too large.
// - Another thread has shut the socket down.
void serve_to_the_end(int socket, const ModelOptions& options, Tally& tally);
// Calls serve_to_the_end() for `socket`, then adds the counts to the statistics of `run`. The caller must close the
// socket only after this call, so that the statistics already count a client that sees the close.
void serve_and_count(int socket, ModelRun& run);
// Adds 1 to the counter `what` of `statistics` immediately. A count that waits in a Tally would be lost if a signal
// ended the process.
void count_one(Statistics& statistics, uint64_t Tally::* what);

// Accepts a connection, serves it until it ends, closes it, and then accepts the next connection. Returns when
// accept_next() returns an empty Fd.
void serve_one_after_another(int listener, ModelRun& run, BlockedThreads* sleepers = nullptr);

}  // namespace peal::models
