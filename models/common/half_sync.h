// SPDX-License-Identifier: BSD-3-Clause
// What the half-sync/half-async models share: I/O threads that read and take frames, workers that compute, and a
// connection that is always with one of them. The queue between is the models' own.
//
//   I/O thread: epoll_wait ─> read ─> frames? ──no──> wait for more
//        ^                               └──yes──> push ══ queue ══> pop ─> work ─> write it, or leave that to the
//        └───────── epoll_ctl(MOD): wait for it again <───────────────────────────  I/O thread ─> give it back
//
// A connection is registered with EPOLLONESHOT: when it was reported its epoll forgets it until somebody asks for it
// again, so from its read to the end of its work nobody else sees it. What came together is one entry of the queue, and
// a connection is in the queue at most once: its frames are answered in order, and a slow worker never overtaken.
//
// Every I/O thread has an epoll and connections of its own, rather than all of them one: so who is too slow is found,
// and a connection closed, by one thread alone, and a worker that gives it back needs no lock for it.
#pragma once

#include <models/model_table.h>

namespace peal::models {

struct HalfSyncConnection;

// Between I/O threads and workers. Any thread.
class HalfSyncQueue {
 public:
  virtual ~HalfSyncQueue() = default;

  // Null ends the worker that gets it.
  virtual void push(HalfSyncConnection* connection) = 0;
  // Sleeps while there is none.
  virtual HalfSyncConnection* pop() = 0;
};

// Serves with io_threads and workers until the stop is asked.
Result<void> run_half_sync(ModelRun& run, HalfSyncQueue& queue);

}  // namespace peal::models
