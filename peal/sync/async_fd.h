// SPDX-License-Identifier: BSD-3-Clause
// AsyncFd: an fd of one's own, or of a foreign library's, as coroutines see it: co_await until it can be read or
// written. What is read and written is the caller's business.
//
//   peal::AsyncFd socket(loop, PQsocket(connection));
//   while (PQisBusy(connection)) {
//     auto ready = co_await socket.readable();
//     if (!ready || PQconsumeInput(connection) == 0) co_return fail(...);
//   }
//
// Level-triggered: what is ready stays so until it is read. Any number of tasks may wait, and all of them go on; make
// the fd non-blocking, since the first may take what the next was told of. It belongs to its loop.
//
// An fd that is ready need not wait for the loop, once a turn; asked again it does, or one that always is ready would
// keep the loop from all else. It is watched from when somebody waits until an event comes that nobody waits for: who
// waits again and again registers it once, and while nobody waits it costs that one event.
#pragma once

#include <cstdint>
#include <optional>

#include <peal/base/fd.h>
#include <peal/coro/task.h>
#include <peal/loop/watch.h>

namespace peal {

class AsyncFd {
 public:
  class Ready;

  // Owned: closed with this, once the engine has let go of it, a turn later at most.
  AsyncFd(Loop& loop, Fd fd);
  // Borrowed: a duplicate is watched, which is one fd more, so that the lender may close its own whenever it likes.
  // What it names (a connection, a pipe's end) ends for the other side only when both are closed.
  AsyncFd(Loop& loop, int fd);
  // Nobody may wait then.
  ~AsyncFd();
  AsyncFd(const AsyncFd&) = delete;
  AsyncFd& operator=(const AsyncFd&) = delete;

  // Result<void>. An error or a hang-up of the fd counts as ready: the next read or write tells. On failure nobody can
  // tell when it is ready, as Watch::OnError says (EPERM of a regular file), EBADF, or EMFILE; so do all later calls.
  Ready readable();
  Ready writable();
  // What was given.
  int fd() const { return fd_; }

 private:
  AsyncFd(Loop& loop, int fd, Fd&& watched);
  bool is_ready(Readiness what);
  void watch_for(Readiness what);
  void on_ready(Readiness ready);
  void on_error(std::error_code error);

  Loop& loop_;
  const int fd_;
  uint64_t asked_in_turn_ = UINT64_MAX;
  detail::WaitList<Ready> readers_;
  detail::WaitList<Ready> writers_;
  std::error_code error_;
  std::optional<Watch> watch_;
};

class [[nodiscard]] AsyncFd::Ready final : public detail::QueuedWait<Ready> {
 public:
  Ready(AsyncFd& fd, Readiness what) : fd_(fd), what_(what) {}
  bool await_ready() {
    if (fd_.error_) why_ = detail::why_of(fd_.error_);
    return fd_.error_ || fd_.is_ready(what_);
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!QueuedWait::await_suspend(handle)) return false;
    fd_.watch_for(what_);
    return true;
  }
  Result<void> await_resume() const { return detail::answer_of(why_); }
  detail::Wait& selectable() { return *this; }

 private:
  friend class AsyncFd;
  friend class detail::QueuedWait<Ready>;
  friend class detail::WaitList<Ready>;
  detail::WaitList<Ready>& line() { return what_.readable ? fd_.readers_ : fd_.writers_; }

  AsyncFd& fd_;
  const Readiness what_;
};

inline AsyncFd::Ready AsyncFd::readable() { return {*this, {.readable = true}}; }
inline AsyncFd::Ready AsyncFd::writable() { return {*this, {.writable = true}}; }

}  // namespace peal
