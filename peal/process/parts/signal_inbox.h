// SPDX-License-Identifier: BSD-3-Clause
// SignalInbox: all that a master waits for: signals, the reports of its workers and of a successor, and a deadline. The
// signals stay blocked for the master's whole life and are read from a signalfd(2). So no signal is lost, and none
// interrupts the master's code.
//
// wait() makes a Loop and destroys it before it returns. If the loop lived longer, fork() would copy its fds into each
// worker.
#pragma once

#include <csignal>
#include <cstdint>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/process/parts/report.h>

namespace peal::detail {

class SignalInbox {
 public:
  // Opens the fds and blocks the signals that a master handles. Fails with the errors of socketpair(2) and signalfd(2),
  // such as EMFILE.
  static Result<SignalInbox> make();
  SignalInbox(SignalInbox&&) = default;
  SignalInbox& operator=(SignalInbox&&) = delete;

  // Sleeps until a signal or a report arrives, or until `deadline`.
  void wait(TimePoint deadline) const;
  // Removes the signals that have arrived and returns their numbers, each once, in no particular order.
  std::vector<int> signals() const;
  // Removes the reports that have arrived and returns them, oldest first.
  std::vector<Report> reports() const;

  // Returns the fd for send_report(). The processes that the master starts inherit this fd.
  int report_to() const { return report_to_.get(); }
  // Returns the signal mask that the thread had before make() blocked the signals.
  const sigset_t& mask_before() const { return mask_before_; }
  // Closes all fds and unblocks SIGCHLD. To be called in a forked worker.
  void close_in_child();
  // Restores the signal mask that the thread had before make(). To be called by a master that ends.
  void restore_mask() const;

 private:
  SignalInbox() = default;

  Fd signals_;
  Fd reports_;
  Fd report_to_;
  sigset_t mask_before_{};
};

}  // namespace peal::detail
