// SPDX-License-Identifier: BSD-3-Clause
// GroupGuard: a process that sends SIGTERM to a group of processes when this process is gone, however it went, and
// SIGKILL 5 s later. What a server of a duel has started is not told by the kernel that the duel was killed; it is in
// the server's group. One thread.
#pragma once

#include <peal/base/fd.h>

namespace peal::load {

class GroupGuard {
 public:
  // Where no process can be made there is no guard, and nobody is told.
  explicit GroupGuard(int group);
  // The group is left alone.
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  // Of the process that guards; -1: none does.
  int pid() const { return pid_; }

 private:
  Fd alive_;  // the end of a pipe that closes with this process
  int pid_ = -1;
};

}  // namespace peal::load
