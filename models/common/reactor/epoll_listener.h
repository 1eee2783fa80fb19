// SPDX-License-Identifier: BSD-3-Clause
// EpollListener: a listener in an epoll. If no fd or memory is free for another connection, the listener is removed
// from the epoll for a short time. Otherwise the level-triggered epoll would report the listener again and again. Use
// an EpollListener on one thread only.
#pragma once

#include <models/common/plain_sockets.h>
#include <peal/base/clock.h>

namespace peal::models {

class EpollListener {
 public:
  // A function that tries to get the next connection from `fd`, without blocking. One such function calls accept4(2).
  // Another one receives a socket that another process has sent.
  using Source = Accepted (*)(int fd);

  // The fds `listener` and `epoll` must stay open as long as this object exists. `source` is the function that gets
  // connections from `listener`.
  EpollListener(int listener, int epoll, Source source) : listener_(listener), epoll_(epoll), source_(source) {}

  // Adds the listener to the epoll, level-triggered. Each event of the listener carries the pointer `data`. The
  // listener may be in the epolls of several threads. In this case, a new connection does not wake all these threads
  // (EPOLLEXCLUSIVE).
  Result<void> watch(void* data);
  // Tries to get the next connection, and returns the outcome. In two cases, next() also removes the listener from the
  // epoll:
  // - The outcome is kNoRoom: no fd or memory is free. resume() adds the listener again.
  // - The outcome is kEnd: the listener was shut down. The listener is never added again.
  Accepted next();

  // After next() has returned kNoRoom, resume_at() returns the time at which the owner must call resume(). Otherwise
  // resume_at() returns kNever. resume() adds the listener to the epoll again. If resume() fails because epoll_ctl(2)
  // fails, resume_at() returns a later time. The owner must call resume() again at that time.
  TimePoint resume_at() const { return resume_at_; }
  void resume();

 private:
  const int listener_;
  const int epoll_;
  const Source source_;
  void* data_ = nullptr;
  TimePoint resume_at_ = kNever;
};

// Accepts the next connection of `listener` with accept4(2). `listener` must be non-blocking. Pass this function as
// `source` to an EpollListener whose fd is a listening socket.
inline Accepted accept_without_blocking(int listener) { return accept_one(listener, Blocking::kNo); }

}  // namespace peal::models
