// SPDX-License-Identifier: BSD-3-Clause
// MemoryRelief: what a thread's connections do when the process is short of memory (memory_budget.h).
//
// Nothing is asked while all is well: the pool of the thread tells when it grows above the soft mark. Then, and every
// 20 ms until what is held is below the low mark, those that hold bytes stop being read; above the hard mark those that
// hold most are ended until enough should come free. Pausing alone does not help when all memory is in messages that
// never become complete. So after five seconds without relief, and after every five more, there are two cases: above
// the soft mark the largest is ended; between the low and the soft mark all are read again.
//
// Only a loop whose connections grow acts; the others are left alone, however much they hold.
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

// One a thread; it knows the sets of the thread's loops that have connections.
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
  void schedule_relief(Duration delay);
  void relieve();
  std::vector<Holder> holders() const;
  void end_largest(std::vector<Holder>& holders, uint64_t bytes);
  void pause(const std::vector<Holder>& holders);
  void resume_all();

  std::vector<ConnectionSet*> sets_;
  std::weak_ptr<void> pending_;  // a look is to come; dies with its timer
  bool grown_ = false;           // since the last look
  TimePoint relief_deadline_ = kNever;
};

}  // namespace peal::detail
