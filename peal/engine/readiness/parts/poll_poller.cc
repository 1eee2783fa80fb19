// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/poll_poller.h>

#include <cerrno>

#include <peal/base/assert.h>

namespace peal::detail {
namespace {

pollfd to_poll(int fd, uint32_t interest) {
  // poll(2) always reports POLLHUP and POLLERR, so an fd without interest must be hidden from it. An interest in
  // kFailed alone therefore reports both. POLLRDHUP, the peer's FIN, is asked for only together with kReadable. It
  // would wake a stream that waits only for room to send again and again.
  auto events = static_cast<short>(interest | (interest & kReadable ? uint32_t{POLLRDHUP} : 0U));
  return {.fd = interest == 0 ? ~fd : fd, .events = events, .revents = 0};
}

}  // namespace

size_t PollPoller::place_of(int fd) const {
  auto index = static_cast<size_t>(fd);
  PEAL_ASSERT(index < places_.size() && places_[index] != kNowhere, "fd {} is not polled", fd);
  return places_[index];
}

Result<void> PollPoller::add(int fd, uint64_t key, uint32_t interest, bool /*edge*/) {
  auto index = static_cast<size_t>(fd);
  if (index >= places_.size()) places_.resize(index + 1, kNowhere);
  if (places_[index] != kNowhere) return fail(EEXIST);
  places_[index] = static_cast<uint32_t>(polled_.size());
  polled_.push_back(to_poll(fd, interest));
  keys_.push_back(key);
  return {};
}

void PollPoller::modify(int fd, uint64_t key, uint32_t interest, bool /*edge*/) {
  size_t place = place_of(fd);
  polled_[place] = to_poll(fd, interest);
  keys_[place] = key;
}

void PollPoller::remove(int fd, uint64_t /*key*/) {
  size_t place = place_of(fd);
  const pollfd& last = polled_.back();
  places_[static_cast<size_t>(last.fd < 0 ? ~last.fd : last.fd)] = static_cast<uint32_t>(place);
  places_[static_cast<size_t>(fd)] = kNowhere;
  polled_[place] = last;
  keys_[place] = keys_.back();
  polled_.pop_back();
  keys_.pop_back();
}

size_t PollPoller::wait(std::span<PollEvent> events, TimePoint deadline) {
  timespec room;
  int ready = ::ppoll(polled_.data(), polled_.size(), timeout_until(deadline, room), nullptr);
  PEAL_ASSERT(ready >= 0 || errno == EINTR, "ppoll of {} fds failed with errno {}", polled_.size(), errno);
  size_t count = 0;
  // Each wait() starts after the fd that the last wait() reported. If more fds are ready than `events` can hold, the
  // next waits report the others.
  for (size_t left = polled_.size(); ready > 0 && left > 0 && count < events.size(); --left) {
    if (next_ >= polled_.size()) next_ = 0;
    const size_t place = next_++;
    auto told = static_cast<uint16_t>(polled_[place].revents);
    if (told == 0) continue;
    --ready;
    PEAL_ASSERT(!(told & POLLNVAL), "fd {} was closed while it was polled", polled_[place].fd);
    events[count++] = {.readiness = told, .key = keys_[place]};
  }
  return count;
}

}  // namespace peal::detail
