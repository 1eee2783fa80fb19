// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sync/async_fd.h>

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <utility>

#include <peal/engine/pollable.h>

namespace peal {

AsyncFd::AsyncFd(Loop& loop, Fd fd) : AsyncFd(loop, fd.get(), std::move(fd)) {}
AsyncFd::AsyncFd(Loop& loop, int fd) : AsyncFd(loop, fd, Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0))) {}

AsyncFd::AsyncFd(Loop& loop, int fd, Fd&& watched) : loop_(loop), fd_(fd) {
  if (!watched) {
    error_ = errno_code(fd < 0 ? EBADF : errno);
    return;
  }
  // Fails if no engine can watch the fd. poll(2), which is_ready() calls, would report such an fd as always ready.
  if (const Result<void> pollable = detail::check_pollable(watched.get()); !pollable) {
    error_ = pollable.error();
    return;
  }
  watch_.emplace(
      loop, std::move(watched), Readiness{}, [this](Readiness ready) { on_ready(ready); },
      [this](std::error_code error) { on_error(error); });
}

AsyncFd::~AsyncFd() {
  PEAL_ASSERT(readers_.empty() && writers_.empty(), "an AsyncFd is destroyed while tasks wait for fd {}", fd_);
}

// Asks the kernel only if the fd is not watched yet. If the fd is ready then, this system call saves two that register
// the fd, and a turn of the loop. For a watched fd it would save the turn only.
bool AsyncFd::is_ready(Readiness what) {
  const uint64_t turn = loop_.stats().turns;
  const bool watched = what.readable ? watch_->interest().readable : watch_->interest().writable;
  if (watched || std::exchange(asked_in_turn_, turn) == turn) return false;
  pollfd asked{.fd = watch_->fd(), .events = static_cast<short>(what.readable ? POLLIN : POLLOUT), .revents = 0};
  return ::poll(&asked, 1, 0) > 0;
}

void AsyncFd::watch_for(Readiness what) {
  Readiness all = watch_->interest();
  all.readable = all.readable || what.readable;
  all.writable = all.writable || what.writable;
  watch_->set_interest(all);
}

// Ends the waits for which the fd is ready. If a resumed coroutine waits again before this function returns, the fd is
// still watched and need not be registered again.
void AsyncFd::on_ready(Readiness ready) {
  const detail::ReadyQueue::Hold hold;
  Readiness still = watch_->interest();
  const auto end = [](bool is_ready, detail::WaitList<Ready>& line, bool& wanted) {
    if (!is_ready) return;
    wanted = !line.empty();
    while (Ready* wait = line.pop_front()) wait->complete(0);
  };
  end(ready.readable, readers_, still.readable);
  end(ready.writable, writers_, still.writable);
  watch_->set_interest(still);
}

void AsyncFd::on_error(std::error_code error) {
  const detail::ReadyQueue::Hold hold;
  error_ = error;
  for (auto* line : {&readers_, &writers_}) {
    while (Ready* wait = line->pop_front()) wait->complete(detail::why_of(error));
  }
}

}  // namespace peal
