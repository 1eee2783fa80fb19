// SPDX-License-Identifier: BSD-3-Clause
// ChildProcess: a child of this process from its start until it is reaped, with the streams that lead to it. First a
// Subprocess owns the ChildProcess. After abandon() the loop owns it (Loop::keep()) and releases it when the child is
// reaped or the loop ends. A ChildProcess may be used on its loop's thread only.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <optional>

#include <peal/base/fd.h>
#include <peal/loop/loop.h>
#include <peal/loop/watch.h>
#include <peal/process/subprocess.h>

namespace peal::detail {

class ChildProcess {
 public:
  using Streams = std::array<std::optional<Stream>, 3>;

  // Takes over the child `pid`, which was just started. `leads_group` is true if the child leads a process group. Fails
  // with the errors of pidfd_open(2), after killing and reaping the child. ECHILD: other code has reaped the child.
  static Result<std::unique_ptr<ChildProcess>> own(Loop& loop, pid_t pid, bool leads_group);
  // Kills the child, as signal(SIGKILL) does, and blocks until the child has ended. If the child was reaped before,
  // only releases the pidfd.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Closes the streams, kills the child as signal(SIGKILL) does, and gives `child` to the loop, which reaps it. Asserts
  // that no task waits for the end of the child.
  static void abandon(std::unique_ptr<ChildProcess> child);

  // Sends a signal to the child, and to its whole group if the child leads one. See Subprocess::signal().
  Result<void> signal(int number);
  pid_t pid() const { return pid_; }
  // Returns how the child ended, or the error if that cannot be known. Returns nullopt until the loop has noticed the
  // end.
  const std::optional<Result<ExitStatus>>& end() const { return end_; }
  // Returns the list of the tasks that wait for the end of the child.
  WaitList<ProcessEnd>& waiting() { return waiting_; }

  Streams streams;  // standard input, output and errors; empty if the option was not Stdio::stream()

 private:
  ChildProcess(Loop& loop, pid_t pid, Fd pidfd, bool leads_group);
  bool is_unreaped() const;
  bool is_reached_by_group_signal() const;
  void reap_if_ended();
  void release_pidfd();
  void publish_end(Result<ExitStatus> end);

  Loop& loop_;  // destroyed after mailbox_ is closed, so to be used only while the mailbox is open
  const std::shared_ptr<Mailbox> mailbox_;
  const pid_t pid_;
  const bool leads_group_;
  Fd pidfd_;
  bool reaped_ = false;
  std::optional<Result<ExitStatus>> end_;
  WaitList<ProcessEnd> waiting_;
  bool abandoned_ = false;  // true after abandon(): the loop owns this
  std::optional<Watch> watch_;
};

}  // namespace peal::detail
