// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/signal_inbox.h>

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include <peal/base/log.h>
#include <peal/loop/watch.h>

namespace peal::detail {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};

}  // namespace

Result<SignalInbox> SignalInbox::make() {
  SignalInbox inbox;
  sigset_t heard;
  ::sigemptyset(&heard);
  for (const int number : kSignals) ::sigaddset(&heard, number);
  std::array<int, 2> ends{};
  // A SOCK_SEQPACKET socket keeps each report in one message and loses none.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return fail(errno);
  inbox.reports_ = Fd(ends[0]);
  inbox.report_to_ = Fd(ends[1]);
  inbox.signals_ = Fd(::signalfd(-1, &heard, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!inbox.signals_) return fail(errno);
  ::pthread_sigmask(SIG_BLOCK, &heard, &inbox.mask_before_);
  ::signal(SIGCHLD, SIG_DFL);  // if SIGCHLD were ignored, the kernel would reap the workers itself
  return inbox;
}

void SignalInbox::wait(TimePoint deadline) const {
  const Result<std::unique_ptr<Loop>> loop = Loop::make({.engine = "epoll"});
  if (!loop) {
    PEAL_LOG_ERROR("the master cannot wait for signals and tries again in 100 ms: {}", loop.error().message());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return;
  }
  auto stop = [&loop](Readiness) { (*loop)->stop(); };
  const Watch signals(**loop, signals_.get(), {.readable = true}, stop);
  const Watch reports(**loop, reports_.get(), {.readable = true}, stop);
  if (deadline != kNever) (*loop)->at(deadline, [&loop] { (*loop)->stop(); });
  if (const Result<void> ran = (*loop)->run(); !ran) {
    PEAL_LOG_ERROR("the master cannot wait for signals and tries again in 100 ms: {}", ran.error().message());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::vector<int> SignalInbox::signals() const {
  std::vector<int> heard;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) heard.push_back(static_cast<int>(info.ssi_signo));
  return heard;
}

std::vector<Report> SignalInbox::reports() const {
  std::vector<Report> heard;
  while (const std::optional<Report> report = receive_report(reports_.get())) heard.push_back(*report);
  return heard;
}

void SignalInbox::close_in_child() {
  signals_.reset();
  reports_.reset();
  report_to_.reset();
  // SIGCHLD is unblocked, because the worker may have children of its own. The other signals stay blocked until the
  // worker handles them (Worker::when_to_leave()), so that a request to leave is not lost.
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::pthread_sigmask(SIG_UNBLOCK, &child, nullptr);
}

void SignalInbox::restore_mask() const { ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr); }

}  // namespace peal::detail
