// SPDX-License-Identifier: BSD-3-Clause
// MemoryRelief: what the connections of a thread do when the process is short of memory (memory_budget.h).
//
// It does no work while memory suffices: the thread's block pool calls it when the pool grows above the soft mark. From
// then on it acts at once and every 20 ms, until the memory held is below the low mark:
// - Connections that hold bytes are not read.
// - Above the hard mark, those that hold most are ended, until enough memory should become free.
// - After each five seconds without relief: above the soft mark the largest connection is ended; between the low and
//   the soft mark all connections are read again. Pausing alone would not help if all memory is in messages that never
//   become complete.
//
// Only a thread whose pool grows acts. Other threads' connections are left alone, however much they hold.
#pragma once

#include <memory>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/memory/memory_budget.h>

namespace peal {
class Connection;
}

namespace peal::detail {

class ConnectionSet;

// MemoryRelief exists once for each thread. It knows every ConnectionSet on the thread's loops that has a connection.
class MemoryRelief final : private MemoryListener {
 public:
  static MemoryRelief& of_this_thread();
  void join(ConnectionSet& set);
  void leave(ConnectionSet& set);

 private:
  struct Holder {
    size_t bytes;
    Connection* connection;
  };

  void on_memory_short() override;
  // Runs relieve() after `delay`, on a loop of this thread.
  void schedule_relief(Duration delay);
  void relieve();
  std::vector<Holder> holders() const;
  void end_largest(std::vector<Holder>& holders, uint64_t bytes);
  void pause(const std::vector<Holder>& holders);
  void resume_all();

  std::vector<ConnectionSet*> sets_;
  // Points to an object that the timer of the next relieve() owns. The pointer is expired if no such timer is pending.
  std::weak_ptr<void> pending_;
  bool grown_ = false;  // on_memory_short() was called since the last relieve()
  // If memory is still short at this time, relieve() ends a connection or resumes all of them. Five seconds after
  // memory became short, or after the last such time; kNever while memory is not short.
  TimePoint relief_deadline_ = kNever;
};

}  // namespace peal::detail
