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
  // Fails for a kind of fd that no engine can watch, such as a regular file. Without this check, poll(2) in is_ready()
  // would always report such an fd as ready.
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

// Calls poll(2) only if the engine does not watch the fd yet. If the fd is ready then, poll(2) saves one turn of the
// loop and the two system calls that register the fd. For a watched fd, poll(2) would save only the turn.
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

// Completes the waits for which the fd is ready. If a coroutine has waited for an event, the engine keeps watching for
// that event. So a coroutine that is resumed and waits again need not register the fd again.
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
