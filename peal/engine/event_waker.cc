// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/event_waker.h>

#include <sys/eventfd.h>

#include <cerrno>

#include <peal/base/assert.h>

namespace peal::detail {

EventWaker::EventWaker() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!fd_) error_ = errno;
}

Result<void> EventWaker::ready() const { return error_ == 0 ? Result<void>() : fail(error_); }

void EventWaker::wake() {
  if (!fd_ || pending_.exchange(true, std::memory_order_acq_rel)) return;
  // A non-blocking write cannot be interrupted by a signal. EAGAIN would mean that the counter is near 2^64. The write
  // is not needed then, because the eventfd is readable already.
  const int done = ::eventfd_write(fd_.get(), 1);
  PEAL_ASSERT(done == 0 || errno == EAGAIN, "write to eventfd {} failed with errno {}", fd_.get(), errno);
}

void EventWaker::drain() {
  eventfd_t count = 0;
  const int done = ::eventfd_read(fd_.get(), &count);
  PEAL_ASSERT(done == 0 || errno == EAGAIN, "read of eventfd {} failed with errno {}", fd_.get(), errno);
  // The flag `pending_` must be cleared after the read, and before the engine's owner looks at what other threads
  // posted. A wake() between the read and this line writes nothing, because it sees `pending_` set. The data posted
  // before that wake() is visible after clear_pending().
  clear_pending();
}

}  // namespace peal::detail
