// SPDX-License-Identifier: BSD-3-Clause
// DeadlineAlarm: decides whether a wait's deadline gets a lasting alarm instead of a timeout.
//
// A timeout makes the kernel start and stop a timer for each wait, which on a virtual machine may cost as much as a
// system call. Some deadlines, that of an idle timeout for example, are the same for many waits in a row. Such a
// deadline is given once to an alarm that outlives the waits, and until the alarm rings the waits need no timeout. The
// poller decides which kind of kernel timer the alarm is.
#pragma once

#include <utility>

#include <peal/base/clock.h>

namespace peal::detail {

class DeadlineAlarm {
 public:
  // Returns true if the alarm rings at `deadline` or earlier, so that the wait needs no timeout. May call
  // `set(deadline)`, which must set the alarm to that time.
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
  // Returns whether ends_by() has ever called `set`. If it has not, no event of the alarm can come.
  bool ever_set() const { return ever_set_; }
  // Must be called when the alarm has rung.
  void rang() {
    at_ = kNever;
    repeats_ = 0;
  }

 private:
  // If more than this many waits in a row have the same deadline, the alarm is set to that deadline.
  static constexpr int kRepeats = 4;

  TimePoint at_ = kNever;        // Time the alarm is set to; kNever if it is not set.
  TimePoint repeated_ = kNever;  // Deadline of the last wait.
  int repeats_ = 0;              // Number of last waits in a row that had this deadline.
  bool ever_set_ = false;
};

}  // namespace peal::detail
