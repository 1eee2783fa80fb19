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
  // It never sleeps, so no signal interrupts it. EAGAIN would be a counter near 2^64: it is readable, which is all that
  // matters.
  const int done = ::eventfd_write(fd_.get(), 1);
  PEAL_ASSERT(done == 0 || errno == EAGAIN, "write to eventfd {} failed with errno {}", fd_.get(), errno);
}

void EventWaker::drain() {
  eventfd_t count = 0;
  const int done = ::eventfd_read(fd_.get(), &count);
  PEAL_ASSERT(done == 0 || errno == EAGAIN, "read of eventfd {} failed with errno {}", fd_.get(), errno);
  // After the read, and before the owner looks at what was posted: a wake() in between wrote nothing, because it saw
  // `pending_`, but what it announced is visible after this exchange.
  clear_pending();
}

}  // namespace peal::detail
