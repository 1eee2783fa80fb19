// SPDX-License-Identifier: BSD-3-Clause
// WorkerGroup: the master's worker processes: forks them, tells them things by signals, knows who is there. One thread,
// which outlives the group: a worker dies with the thread that forked it.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <span>
#include <string>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/process/master.h>
#include <peal/process/parts/socket_group.h>

namespace peal::detail {

struct WorkerProcess {
  pid_t pid;
  size_t place;
  uint64_t generation;
  TimePoint born;
  bool ready = false;
  bool leaving = false;        // was asked to, by whomever
  bool killed = false;         // by the master, because its time was over
  TimePoint kill_at = kNever;  // when it has not left, or does not serve, by then
};

class WorkerGroup {
 public:
  // `groups` are the master's. `at_fork` is called in each child first: it closes what is the master's own.
  WorkerGroup(std::vector<SocketGroup>& groups, const Master::Work& work, std::function<void()> at_fork)
      : groups_(groups), work_(work), at_fork_(std::move(at_fork)) {}

  // The child calls `work` and never returns. Errors of fork(2).
  Result<void> add(const Worker::Facts& facts, bool pin, int report_to);
  // Null when it is none of ours.
  WorkerProcess* find(pid_t pid);
  // It was reaped.
  void remove(pid_t pid) {
    std::erase_if(members_, [pid](const WorkerProcess& member) { return member.pid == pid; });
  }
  std::span<WorkerProcess> members() { return members_; }
  bool empty() const { return members_.empty(); }

  // Asks to leave, by this signal, all for which `which(member)`; kills who is there after `timeout`.
  template <class Which>
  void request_exit(int signal, Duration timeout, Which which) {
    for (WorkerProcess& member : members_) {
      if (which(member)) request_exit_of(member, signal, timeout);
    }
  }
  // Tells all of them.
  void signal(int number) const;
  // It leaves of itself: it is killed, too, if it is there after `timeout`.
  static void expect_end(WorkerProcess& member, Duration timeout);
  // Kills those whose time is over by `now`. The next such time; kNever: nobody's.
  TimePoint kill_overdue(TimePoint now);

 private:
  [[noreturn]] void become_worker(const Worker::Facts& facts, bool pin, Fd report_to, pid_t master) noexcept;
  static void request_exit_of(WorkerProcess& member, int signal, Duration timeout);

  std::vector<SocketGroup>& groups_;
  const Master::Work& work_;
  std::function<void()> at_fork_;
  std::vector<WorkerProcess> members_;
};

}  // namespace peal::detail
