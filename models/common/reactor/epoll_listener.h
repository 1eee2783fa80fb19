// SPDX-License-Identifier: BSD-3-Clause
// EpollListener: a listener in an epoll that is left alone for a moment when there is no room for another connection,
// because a level-triggered epoll would report it again and again. One thread.
#pragma once

#include <models/common/plain_sockets.h>
#include <peal/base/clock.h>

namespace peal::models {

class EpollListener {
 public:
  // Where connections come from: accept4(2), or another way, which also does not block.
  using Source = Accepted (*)(int fd);

  // `listener` and `epoll` outlive it.
  EpollListener(int listener, int epoll, Source source) : listener_(listener), epoll_(epoll), source_(source) {}

  // Events bear `data` from now on. Level-triggered, whatever the connections are; of several epolls that have the same
  // listener not all are woken for one connection (EPOLLEXCLUSIVE).
  Result<void> watch(void* data);
  // The next connection. With neither one nor kWouldBlock, it is not asked again before resume_at(); after an end,
  // never.
  Accepted next();

  // When resume() is to be called; kNever while there is no reason to.
  TimePoint resume_at() const { return resume_at_; }
  void resume();

 private:
  const int listener_;
  const int epoll_;
  const Source source_;
  void* data_ = nullptr;
  TimePoint resume_at_ = kNever;
};

// An EpollListener's Source.
inline Accepted accept_without_blocking(int listener) { return accept_one(listener, Blocking::kNo); }

}  // namespace peal::models
