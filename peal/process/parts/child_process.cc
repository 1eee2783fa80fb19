// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/child_process.h>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <tuple>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/log.h>

namespace peal::detail {
namespace {

// These are raw system calls, because the functions that glibc 2.36 declares in sys/pidfd.h cannot be linked from C++.
int pidfd_open(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
int pidfd_send_signal(int pidfd, int number) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0));
}

// Calls waitid(2) and repeats the call after each EINTR. With WNOHANG, si_pid of the result is 0 if the child has not
// ended.
Result<siginfo_t> wait_for(int pidfd, int how) {
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | how) != 0) {
    if (errno != EINTR) return fail(errno);
  }
  return info;
}

ExitStatus status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {.code = info.si_status};
  return {.signal = info.si_status, .dumped_core = info.si_code == CLD_DUMPED};
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::own(Loop& loop, pid_t pid, bool leads_group) {
  Fd pidfd(pidfd_open(pid));
  if (pidfd) return std::unique_ptr<ChildProcess>(new ChildProcess(loop, pid, std::move(pidfd), leads_group));
  const int error = errno;
  if (error == ESRCH) return fail(ECHILD);
  // The pid still belongs to the child if waitid(2) finds it. Otherwise other code has reaped it, and kill(2) could hit
  // an unrelated process.
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return fail(error);
  ::kill(leads_group ? -pid : pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return fail(error);
}

ChildProcess::ChildProcess(Loop& loop, pid_t pid, Fd pidfd, bool leads_group)
    : loop_(loop), mailbox_(loop.mailbox()), pid_(pid), leads_group_(leads_group), pidfd_(std::move(pidfd)) {
  auto on_error = [this](std::error_code error) { publish_end(std::unexpected(error)); };
  watch_.emplace(
      loop_, pidfd_.get(), Readiness{.readable = true}, [this](Readiness) { reap_if_ended(); }, std::move(on_error));
}

ChildProcess::~ChildProcess() {
  if (!reaped_) {
    const Result<void> killed = signal(SIGKILL);
    if (!killed) PEAL_LOG_WARN("process {} cannot be killed and may still run: {}", pid_, killed.error().message());
    std::ignore = wait_for(pidfd_.get(), killed ? 0 : WNOHANG);
  }
  release_pidfd();
}

// Stops watching the pidfd. The pidfd is closed in the callback of stop(), because the engine may still use it until
// then.
void ChildProcess::release_pidfd() {
  if (pidfd_) watch_->stop([pidfd = std::move(pidfd_)] {});
}

void ChildProcess::abandon(std::unique_ptr<ChildProcess> child) {
  for (std::optional<Stream>& stream : child->streams) {
    if (stream && *stream) stream->abort();  // an empty Stream was moved out
    stream.reset();
  }
  ChildProcess& self = *child;
  PEAL_ASSERT(self.waiting_.empty(), "a Subprocess is destroyed while tasks wait for the end of process {}", self.pid_);
  if (self.end_ || !self.mailbox_->open()) return;
  std::ignore = self.signal(SIGKILL);
  self.abandoned_ = true;
  self.loop_.keep(std::shared_ptr<ChildProcess>(std::move(child)));
}

// Returns whether the child has not been reaped yet. As long as it is not reaped, the kernel gives its process id and
// its group id to no other process.
bool ChildProcess::is_unreaped() const { return !reaped_ && wait_for(pidfd_.get(), WNOHANG | WNOWAIT).has_value(); }

// Returns whether a signal to the child's group reaches the child itself. It does not if the child has left the group,
// or has changed its user. kill(2) does not show this: it returns 0 if the signal has reached any member of the group.
bool ChildProcess::is_reached_by_group_signal() const {
  return ::getpgid(pid_) == pid_ && pidfd_send_signal(pidfd_.get(), 0) == 0;
}

Result<void> ChildProcess::signal(int number) {
  if (!is_unreaped()) return {};
  const bool sent_to_group = leads_group_ && ::kill(-pid_, number) == 0;
  if (sent_to_group && is_reached_by_group_signal()) return {};
  if (pidfd_send_signal(pidfd_.get(), number) == 0 || errno == ESRCH) return {};
  return fail(errno);
}

void ChildProcess::reap_if_ended() {
  const Result<siginfo_t> seen = wait_for(pidfd_.get(), WNOHANG | WNOWAIT);
  if (seen && seen->si_pid == 0) return;
  // The rest of the group is killed before the child is reaped, because afterwards the group id may belong to other
  // processes.
  if (seen && leads_group_) ::kill(-pid_, SIGKILL);
  const Result<siginfo_t> info = wait_for(pidfd_.get(), WNOHANG);
  reaped_ = true;
  release_pidfd();
  publish_end(info ? Result<ExitStatus>(status_of(*info)) : std::unexpected(info.error()));
}

// Stores the result and resumes the waiting tasks. This call may destroy the ChildProcess, so the caller must not use
// it afterwards.
void ChildProcess::publish_end(Result<ExitStatus> end) {
  end_ = std::move(end);
  if (abandoned_) {
    std::ignore = loop_.let_go(this);
    return;
  }
  const ReadyQueue::Hold hold;
  while (ProcessEnd* wait = waiting_.pop_front()) {
    wait->end_ = end_;
    wait->complete(0);
  }
}

}  // namespace peal::detail
