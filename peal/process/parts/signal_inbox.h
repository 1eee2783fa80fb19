// SPDX-License-Identifier: BSD-3-Clause
// SignalInbox: what a master hears: signals, the reports of those who serve, and the time. Its signals stay blocked
// from first to last and are read from a signalfd: none is lost, and none comes in the middle of something.
//
// A master sleeps in a loop made for the one sleep, so that there is none when it forks: its fds would be the child's,
// too.
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
  // Blocks the signals. EMFILE and its like.
  static Result<SignalInbox> make();
  SignalInbox(SignalInbox&&) = default;
  SignalInbox& operator=(SignalInbox&&) = delete;

  // Sleeps until there is something to hear, `deadline` at the latest.
  void wait(TimePoint deadline) const;
  // The signals that have arrived, each once, in no order.
  std::vector<int> signals() const;
  // What processes have reported, in order.
  std::vector<Report> reports() const;

  // Where processes report: for those that this one starts.
  int report_to() const { return report_to_.get(); }
  // The signal mask from before.
  const sigset_t& mask_before() const { return mask_before_; }
  // In a child: closes all of it.
  void close_in_child();
  // In a master that ends: the mask is as before.
  void restore_mask() const;

 private:
  SignalInbox() = default;

  Fd signals_;
  Fd reports_;
  Fd report_to_;
  sigset_t mask_before_{};
};

}  // namespace peal::detail
