// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/event_waker.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <peal/base/assert.h>

namespace peal::detail {

EventWaker::EventWaker() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!fd_) error_ = errno;
}

Result<void> EventWaker::ready() const {
  if (error_ != 0) return fail(error_);
  return {};
}

void EventWaker::wake() {
  if (!fd_ || pending_.exchange(true, std::memory_order_acq_rel)) return;
  uint64_t one = 1;
  ssize_t written;
  do {
    written = ::write(fd_.get(), &one, sizeof one);
  } while (written < 0 && errno == EINTR);
  // EAGAIN would be a counter near 2^64: it is readable, which is all that matters.
  PEAL_ASSERT(written == sizeof one || errno == EAGAIN, "write to eventfd {} failed with errno {}", fd_.get(), errno);
}

void EventWaker::drain() {
  uint64_t count = 0;
  ssize_t got;
  do {
    got = ::read(fd_.get(), &count, sizeof count);
  } while (got < 0 && errno == EINTR);
  PEAL_ASSERT(got == sizeof count || errno == EAGAIN, "read of eventfd {} failed with errno {}", fd_.get(), errno);
  // After the read, and before the owner looks at what was posted: a wake() in between wrote nothing, because it saw
  // `pending_`, but what it announced is visible after this exchange.
  noticed();
}

}  // namespace peal::detail
