// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/parts/signal_watch.h>

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include <peal/base/assert.h>

namespace peal::detail {

SignalWatch::~SignalWatch() {
  PEAL_ASSERT(!watch_, "{} signals still watched", handlers_.size());
  if (thread_ != std::this_thread::get_id()) return;
  constexpr timespec kAtOnce{};
  while (::sigtimedwait(&blocked_, nullptr, &kAtOnce) > 0 || errno == EINTR) {
  }
  ::pthread_sigmask(SIG_UNBLOCK, &blocked_, nullptr);
}

Result<void> SignalWatch::add(int signal_number, Task handler) {
  PEAL_ASSERT(handler, "signal {} without a handler", signal_number);
  sigset_t with = signals_;
  // It refuses what is no signal and the two the C library keeps for itself.
  const bool is_signal = ::sigaddset(&with, signal_number) == 0;
  if (!is_signal || signal_number == SIGKILL || signal_number == SIGSTOP) return fail(EINVAL);
  if (handlers_.contains(signal_number)) return fail(EEXIST);
  const int fd = ::signalfd(fd_.get(), &with, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) return fail(errno);
  if (!fd_) fd_.reset(fd);

  sigset_t before;
  const int error = ::pthread_sigmask(SIG_BLOCK, &with, &before);
  PEAL_ASSERT(error == 0, "blocking signal {} failed with error {}", signal_number, error);
  if (handlers_.empty()) thread_ = std::this_thread::get_id();
  const bool was_blocked = ::sigismember(&before, signal_number) == 1;
  if (!was_blocked && thread_ == std::this_thread::get_id()) ::sigaddset(&blocked_, signal_number);
  signals_ = with;
  handlers_.emplace(signal_number, std::move(handler));
  return {};
}

void SignalWatch::attach(Engine& engine) {
  if (fd_ && !watch_) watch_ = engine.watch(fd_.get(), true, false, *this);
}

// One signal a turn: a handler that raises its own must not keep the loop here. The next one makes the fd ready again.
void SignalWatch::on_ready(bool, bool) {
  signalfd_siginfo arrived;
  // EAGAIN: another loop that handles the same signal was faster.
  if (::read(fd_.get(), &arrived, sizeof(arrived)) != sizeof(arrived)) return;
  const auto handler = handlers_.find(static_cast<int>(arrived.ssi_signo));
  if (handler != handlers_.end()) handler->second();
}

void SignalWatch::on_unwatched() { watch_ = {}; }

}  // namespace peal::detail
