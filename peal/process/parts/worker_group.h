// SPDX-License-Identifier: BSD-3-Clause
// WorkerGroup: the master's worker processes. A WorkerGroup forks workers, sends signals to them, and records the state
// of each. It is used by one thread, which must outlive it: a worker dies with the thread that forked it.
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
  bool ready = false;          // true after the worker has reported that it serves
  bool leaving = false;        // true after the master asked it to leave, or it reported leaving
  bool killed = false;         // true after the master has killed the worker at kill_at
  TimePoint kill_at = kNever;  // the time at which the master kills the worker; kNever if no time is set
};

class WorkerGroup {
 public:
  // `groups` are the master's sockets. `at_fork` is called in each child before the worker starts, to close what only
  // the master needs.
  WorkerGroup(std::vector<SocketGroup>& groups, const Master::Work& work, std::function<void()> at_fork)
      : groups_(groups), work_(work), at_fork_(std::move(at_fork)) {}

  // Forks a worker, which runs `work` and exits with its result. Fails with the errors of fork(2) and fcntl(2).
  Result<void> add(const Worker::Facts& facts, bool pin, int report_to);
  // Returns the worker with this process id; null if no worker has it.
  WorkerProcess* find(pid_t pid);
  // Erases a worker that was reaped.
  void remove(pid_t pid) {
    std::erase_if(members_, [pid](const WorkerProcess& member) { return member.pid == pid; });
  }

  std::span<WorkerProcess> members() { return members_; }
  bool empty() const { return members_.empty(); }

  // Asks each worker for which `which(member)` is true to leave, by sending it `signal`. kill_overdue() kills the
  // workers that have not ended after `timeout`.
  template <class Which>
  void request_exit(int signal, Duration timeout, Which which) {
    for (WorkerProcess& member : members_) {
      if (which(member)) request_exit_of(member, signal, timeout);
    }
  }
  // Sends a signal to all workers.
  void signal(int number) const;
  // Records that a worker is leaving, without sending it a signal. kill_overdue() kills the worker if it has not ended
  // after `timeout`.
  static void expect_end(WorkerProcess& member, Duration timeout);
  // Kills the workers whose kill_at has passed at `now`. Returns the earliest kill_at of the other workers. Returns
  // kNever if no other worker has a kill_at.
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
