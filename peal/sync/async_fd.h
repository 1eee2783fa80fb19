// SPDX-License-Identifier: BSD-3-Clause
// AsyncFd: waits until an fd can be read or written. The fd may belong to the application or to another library.
// AsyncFd itself does not read or write.
//
//   peal::AsyncFd socket(loop, PQsocket(connection));
//   while (PQisBusy(connection)) {
//     auto ready = co_await socket.readable();
//     if (!ready || PQconsumeInput(connection) == 0) co_return complain();
//   }
//
// Readiness is level-triggered: the fd stays ready until it is read or written. Any number of coroutines may wait, and
// all of them are resumed. So make the fd non-blocking: the first coroutine may read what the second was resumed for.
// An AsyncFd belongs to its loop.
//
// The first await in each turn of the loop returns at once if the fd is ready and not watched. Further awaits wait
// for the loop, because an fd that is always ready would otherwise keep the loop from all other work. The engine
// watches the fd from the first await until an event arrives for which no coroutine waits. So a coroutine that awaits
// in a loop registers the fd only once, and an unused AsyncFd costs one event at most.
#pragma once

#include <cstdint>
#include <optional>

#include <peal/base/fd.h>
#include <peal/coro/task.h>
#include <peal/loop/watch.h>

namespace peal {

class AsyncFd {
 public:
  // The awaitable that readable() and writable() return.
  class Ready;

  // Takes ownership of the fd. After the destructor, the fd is closed when the engine no longer refers to it, at most
  // one turn of the loop later.
  AsyncFd(Loop& loop, Fd fd);
  // Borrows the fd: watches a duplicate of it (dup(2)), which needs one more fd. So the caller may close its own fd at
  // any time. The other side of a connection or pipe sees the end only after both fds are closed.
  AsyncFd(Loop& loop, int fd);
  // The object must not be destroyed while a coroutine waits in it (asserted).
  ~AsyncFd();
  AsyncFd(const AsyncFd&) = delete;
  AsyncFd& operator=(const AsyncFd&) = delete;

  // readable() waits until the fd can be read, and writable() waits until the fd can be written. The await returns
  // Result<void>. An error or a hang-up of the fd counts as ready, and the next read or write of the fd reports it.
  // Errors, which all later calls return as well:
  // - EPERM: the engine cannot watch such an fd, for example a regular file. Watch::OnError lists the other errors of
  //   an fd that cannot be watched.
  // - EBADF: the fd is not open.
  // - EMFILE: no fd is left for the duplicate.
  Ready readable();
  Ready writable();
  // Returns the fd that was given to the constructor.
  int fd() const { return fd_; }

 private:
  AsyncFd(Loop& loop, int fd, Fd&& watched);
  // Returns true if the kernel reports the fd as ready now. Asks the kernel at most once in a turn of the loop, and
  // only if the fd is not watched; otherwise returns false.
  bool is_ready(Readiness what);
  // Makes the engine watch for `what`, in addition to what it watches for already.
  void watch_for(Readiness what);
  // on_ready() and on_error() are the callbacks of `watch_`.
  void on_ready(Readiness ready);
  void on_error(std::error_code error);

  Loop& loop_;
  const int fd_;
  uint64_t asked_in_turn_ = UINT64_MAX;  // the turn of the loop in which is_ready() has last asked the kernel
  detail::WaitList<Ready> readers_;
  detail::WaitList<Ready> writers_;
  std::error_code error_;       // the error of all awaits, if the fd cannot be watched
  std::optional<Watch> watch_;  // nullopt if the constructor failed; error_ is set then
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
