// SPDX-License-Identifier: BSD-3-Clause
// DeadlineAlarm: whether a wait's deadline is worth an alarm of its own.
//
// A timeout makes the kernel start a timer for each wait and stop it again, which on a virtual machine may cost as much
// as a system call. So a deadline that several waits in a row have had (that of an idle timeout, say) is given to an
// alarm that outlives them, once; until that rings, waits go without. What the alarm is, its poller decides.
#pragma once

#include <utility>

#include <peal/base/clock.h>

namespace peal::detail {

class DeadlineAlarm {
 public:
  // Whether an alarm ends a wait by `deadline`, an earlier alarm counts as well. May call `set(deadline)`, which sets
  // the alarm.
  template <class Set>
  bool ends_by(TimePoint deadline, Set&& set) {
    if (deadline == TimePoint::min()) return false;
    if (at_ <= deadline) return true;
    if (std::exchange(repeated_, deadline) != deadline) repeats_ = 0;
    if (++repeats_ <= kRepeats || deadline.time_since_epoch() <= Duration::zero()) return false;
    set(deadline);
    at_ = deadline;
    ever_set_ = true;
    return true;
  }
  bool ever_set() const { return ever_set_; }
  void rang() {
    at_ = kNever;
    repeats_ = 0;
  }

 private:
  static constexpr int kRepeats = 4;

  TimePoint at_ = kNever;        // kNever: it is not set
  TimePoint repeated_ = kNever;  // what the last waits were to end by
  int repeats_ = 0;
  bool ever_set_ = false;
};

}  // namespace peal::detail
