// SPDX-License-Identifier: BSD-3-Clause
// GroupGuard: a child process that waits until this process has ended, for whatever reason. Then the guard sends
// SIGTERM to a process group, and SIGKILL 5 s later. Use it on one thread only.
//
// If a duel is killed, the kernel sends a signal to the servers, but not to the processes that the servers have
// started. These processes are in the group of their server, so the guard ends them.
#pragma once

#include <peal/base/fd.h>

namespace peal::load {

class GroupGuard {
 public:
  // Starts a guard, which is a child process. The guard waits until this process has ended. After that, the guard ends
  // all processes of the process group `group`. If the guard cannot be started, no error is reported, and the group has
  // no guard.
  explicit GroupGuard(int group);
  // Kills the guard while this process still runs. The guard sends signals only after the end of this process, so the
  // process group gets no signal.
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  // Returns the process id of the guard, or -1 if there is no guard.
  int pid() const { return pid_; }

 private:
  Fd alive_;  // the write end of a pipe, which closes when this process ends
  int pid_ = -1;
};

}  // namespace peal::load
