// SPDX-License-Identifier: BSD-3-Clause
// The half-sync/half-async models share this code. I/O threads read and parse frames. Worker threads do the work of the
// frames. At any time, a connection belongs to only one of these threads. Each model has its own kind of queue from the
// I/O threads to the workers.
//
//   I/O thread: epoll_wait ─> read ─> frames? ──no──> wait for more
//        ^                               └──yes──> push ══ queue ══> pop ─> work ─> write it, or leave that to the
//        └───────── epoll_ctl(MOD): wait for it again <───────────────────────────  I/O thread ─> give it back
//
// A connection is registered with EPOLLONESHOT. After an event, the epoll reports no further event of the connection
// until epoll_ctl(2) is called for it again. Therefore no other thread can use the connection between the read and the
// end of the work. All frames of one read are one entry of the queue, and a connection is in the queue at most once.
// Therefore the frames of a connection are answered in order, even if a worker is slow.
//
// Each I/O thread has its own epoll and its own connections. Only this I/O thread closes the connections, also those of
// slow clients. Therefore a worker that gives a connection back does not have to lock a list of connections.
#pragma once

#include <models/model_table.h>

namespace peal::models {

struct HalfSyncConnection;

// The queue through which I/O threads pass connections to workers. Its functions may be called on any thread.
class HalfSyncQueue {
 public:
  virtual ~HalfSyncQueue() = default;

  // Appends `connection` to the queue. The connection must have at least one complete frame, because the worker answers
  // complete frames and cannot read. A null pointer instead of a connection tells one worker to end: the worker whose
  // pop() returns the null pointer. If the queue is bounded, push() blocks while the queue is full.
  virtual void push(HalfSyncConnection* connection) = 0;
  // Removes the first entry from the queue and returns it. While the queue is empty, pop() blocks.
  virtual HalfSyncConnection* pop() = 0;
};

// Runs the server until SIGTERM or SIGINT arrives. Starts run.options.io_threads I/O threads and run.options.workers
// worker threads.
Result<void> run_half_sync(ModelRun& run, HalfSyncQueue& queue);

}  // namespace peal::models
