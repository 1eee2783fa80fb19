// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/select_poller.h>

#include <cerrno>

#include <peal/base/assert.h>
#include <peal/base/log.h>

namespace peal::detail {

bool SelectPoller::can_hold(int fd) {
  if (fd < FD_SETSIZE) return true;
  if (auto suppressed = limiter_.admit(monotonic_now())) {
    PEAL_LOG_ERROR(
        "fd {} refused: select(2) takes only fds below FD_SETSIZE ({}); use another engine ({} such lines suppressed)",
        fd, FD_SETSIZE, *suppressed);
  }
  return false;
}

Result<void> SelectPoller::add(int fd, uint64_t key, uint32_t interest, bool edge) {
  if (!can_hold(fd)) return fail(EMFILE);
  PEAL_ASSERT(fd >= 0, "fd {} is negative", fd);
  if (FD_ISSET(fd, &known_)) return fail(EEXIST);
  FD_SET(fd, &known_);
  end_ = std::max(end_, fd + 1);
  modify(fd, key, interest, edge);
  return {};
}

void SelectPoller::modify(int fd, uint64_t key, uint32_t interest, bool /*edge*/) {
  PEAL_ASSERT(fd >= 0 && fd < FD_SETSIZE && FD_ISSET(fd, &known_), "fd {} is not polled", fd);
  FD_CLR(fd, &read_);
  FD_CLR(fd, &write_);
  // An interest in kFailed is watched as readability. A failed socket is readable, and select(2) shows the failure in
  // no other way. A socket with unread data is readable, too, so the engine may be woken in vain.
  if (interest & (kReadable | kFailed)) FD_SET(fd, &read_);
  if (interest & kWritable) FD_SET(fd, &write_);
  keys_[static_cast<size_t>(fd)] = key;
}

void SelectPoller::remove(int fd, uint64_t /*key*/) {
  modify(fd, 0, 0, false);
  FD_CLR(fd, &known_);
}

size_t SelectPoller::wait(std::span<PollEvent> events, TimePoint deadline) {
  fd_set readable = read_;
  fd_set writable = write_;
  timespec room;
  int ready = ::pselect(end_, &readable, &writable, nullptr, timeout_until(deadline, room), nullptr);
  PEAL_ASSERT(ready >= 0 || errno == EINTR, "pselect of {} fds failed with errno {}", end_, errno);
  size_t count = 0;
  // Each wait() starts after the fd that the last wait() reported. If more fds are ready than `events` can hold, the
  // next waits report the others.
  for (int left = end_; ready > 0 && left > 0 && count < events.size(); --left) {
    if (next_ >= end_) next_ = 0;
    const int fd = next_++;
    bool reads = FD_ISSET(fd, &readable);
    bool writes = FD_ISSET(fd, &writable);
    if (!reads && !writes) continue;
    ready -= int{reads} + int{writes};
    events[count++] = {.readiness = (reads ? kReadable : 0U) | (writes ? kWritable : 0U),
                       .key = keys_[static_cast<size_t>(fd)]};
  }
  return count;
}

}  // namespace peal::detail
