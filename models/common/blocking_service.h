// SPDX-License-Identifier: BSD-3-Clause
// "Blocking W": one connection served to its end by the thread that calls, in blocking reads and writes; and what the
// models around it share. Where a model is ended through BlockedThreads it passes them; where a signal ends its process
// it has none.
//
//   accept_next ─> count ──> serve_and_count: read ─> frames ─> work ─> write ──> ... until the client ends ──> count
//   ──> close
#pragma once

#include <models/common/model_options.h>
#include <models/common/statistics.h>
#include <models/model_table.h>

namespace peal::models {

// The next connection of a listener, counted; while there is no room for one it waits. None: the listener was shut
// down.
Fd accept_next(int listener, Statistics& statistics, const BlockedThreads* sleepers = nullptr);

// Reads, takes whole frames, works, writes, until the client ends, sends what cannot be answered, or the socket is shut
// down. Counts the connection and its requests in `tally`. Leaves the closing to its caller.
void serve_to_the_end(int socket, const ModelOptions& options, Tally& tally);
// The same, and adds what was counted to the model's statistics: a client that sees its connection closed afterwards
// finds itself counted.
void serve_and_count(int socket, ModelRun& run);
// Adds one, now: a signal may end the process before it comes to its next count.
void count_one(Statistics& statistics, uint64_t Tally::* what);

// Accept, serve to the end, accept the next, until the listener is shut down.
void serve_one_after_another(int listener, ModelRun& run, BlockedThreads* sleepers = nullptr);

}  // namespace peal::models
