// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/worker_group.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include <peal/base/log.h>
#include <peal/base/thread/thread.h>

namespace peal::detail {
namespace {

// Returns the `index`-th of the processors that this process may use. An index that is too large begins again at the
// first processor.
unsigned processor_of(size_t index) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  const auto count = static_cast<size_t>(std::max(CPU_COUNT(&allowed), 1));
  size_t left = index % count;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && left-- == 0) return cpu;
  }
  return 0;
}

}  // namespace

Result<void> WorkerGroup::add(const Worker::Facts& facts, bool pin, int report_to) {
  std::fflush(nullptr);  // otherwise both processes would print the buffered output
  const pid_t master = ::getpid();
  Fd report(::fcntl(report_to, F_DUPFD_CLOEXEC, 0));
  if (!report) return fail(errno);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno);
  if (pid == 0) become_worker(facts, pin, std::move(report), master);
  members_.push_back({.pid = pid, .place = facts.place, .generation = facts.generation, .born = monotonic_now()});
  return {};
}

// Runs the worker in the forked child and exits. The function is noexcept, because an exception must not unwind into
// the child's copy of the master's stack.
void WorkerGroup::become_worker(const Worker::Facts& facts, bool pin, Fd report_to, pid_t master) noexcept {
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL));
  if (::getppid() != master) ::_exit(1);  // the master had ended before prctl(2)
  at_fork_();
  set_current_thread_name(fmt::format("worker-{}", facts.place));
  if (const unsigned cpu = processor_of(facts.place); pin) {
    if (const Result<void> pinned = pin_current_thread(cpu); !pinned) {
      PEAL_LOG_WARN("worker {} is not pinned to processor {}: {}", facts.place, cpu, pinned.error().message());
    }
  }
  std::vector<ListeningSocket> listening;
  for (SocketGroup& group : groups_) {
    for (ListeningSocket& socket : std::move(group).take_share(facts.place, facts.count)) {
      listening.push_back(std::move(socket));
    }
  }
  Worker::Facts known = facts;
  known.master = master;
  Worker worker(known, std::move(listening), std::move(report_to));
  const int exit_code = work_(worker);
  std::fflush(nullptr);
  ::_exit(exit_code);
}

WorkerProcess* WorkerGroup::find(pid_t pid) {
  const auto found = std::ranges::find(members_, pid, &WorkerProcess::pid);
  return found == members_.end() ? nullptr : &*found;
}

void WorkerGroup::signal(int number) const {
  for (const WorkerProcess& member : members_) ::kill(member.pid, number);
}

void WorkerGroup::request_exit_of(WorkerProcess& member, int signal, Duration timeout) {
  ::kill(member.pid, signal);
  expect_end(member, timeout);
}

void WorkerGroup::expect_end(WorkerProcess& member, Duration timeout) {
  member.leaving = true;
  member.kill_at = std::min(member.kill_at, later(monotonic_now(), timeout));
}

TimePoint WorkerGroup::kill_overdue(TimePoint now) {
  TimePoint next = kNever;
  for (WorkerProcess& member : members_) {
    if (member.kill_at <= now) {
      PEAL_LOG_WARN("worker {} (process {}) did not serve or end in time: killed", member.place, member.pid);
      ::kill(member.pid, SIGKILL);
      member.killed = true;
      member.kill_at = kNever;
    }
    next = std::min(next, member.kill_at);
  }
  return next;
}

}  // namespace peal::detail
