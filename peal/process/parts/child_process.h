// SPDX-License-Identifier: BSD-3-Clause
// ChildProcess: a child of this process from its start until it is reaped, with the streams that lead to it. A
// Subprocess owns it, then, once it is left, its loop, which lets go of it when it reaps the child, or when it ends
// itself. It belongs to its loop.
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

  // `pid` was just started, as the leader of a group if `leads_group`. Errors of pidfd_open(2): then it was killed.
  static Result<std::unique_ptr<ChildProcess>> own(Loop& loop, pid_t pid, bool leads_group);
  // Kills it, and waits for it, if it was not reaped.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Ends the streams, kills it, and has the loop reap it.
  static void abandon(std::unique_ptr<ChildProcess> child);

  Result<void> signal(int number);
  pid_t pid() const { return pid_; }
  // None while it runs, as far as is known here.
  const std::optional<Result<ExitStatus>>& end() const { return end_; }
  WaitList<ProcessEnd>& waiting() { return waiting_; }

  Streams streams;

 private:
  ChildProcess(Loop& loop, pid_t pid, Fd pidfd, bool leads_group);
  bool is_unreaped() const;
  bool is_reached_by_group_signal() const;
  void reap_if_ended();
  void release_pidfd();
  void publish_end(Result<ExitStatus> end);

  Loop& loop_;  // gone once the mailbox is closed
  const std::shared_ptr<Mailbox> mailbox_;
  const pid_t pid_;
  const bool leads_group_;
  Fd pidfd_;
  bool reaped_ = false;
  std::optional<Result<ExitStatus>> end_;
  WaitList<ProcessEnd> waiting_;
  bool abandoned_ = false;  // to the loop
  std::optional<Watch> watch_;
};

}  // namespace peal::detail
