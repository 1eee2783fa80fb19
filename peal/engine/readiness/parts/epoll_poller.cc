// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/epoll_poller.h>

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <utility>

#include <peal/base/assert.h>

namespace peal::detail {
namespace {

static_assert(sizeof(PollEvent) == sizeof(epoll_event) && alignof(PollEvent) == alignof(epoll_event));
static_assert(offsetof(PollEvent, readiness) == offsetof(epoll_event, events));
static_assert(offsetof(PollEvent, key) == offsetof(epoll_event, data));
static_assert(kReadable == EPOLLIN && kWritable == EPOLLOUT);
static_assert(kBroken == (EPOLLHUP | EPOLLERR) && kReadersNews == (EPOLLRDHUP | EPOLLPRI));

// Key of the alarm's timerfd. No key of an engine equals it, because its low bits name a kind that does not exist.
constexpr uint64_t kAlarmKey = ~uint64_t{0};

uint32_t to_epoll(uint32_t interest, bool edge) {
  const bool reads = (interest & kReadable) != 0;
  if (edge) return interest | EPOLLET | (reads ? kReadersNews : 0U);
  return interest | (reads ? uint32_t{EPOLLRDHUP} : 0U);
}

}  // namespace

Result<std::unique_ptr<Poller>> EpollPoller::make() {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(errno);
  std::unique_ptr<EpollPoller> poller(new EpollPoller(std::move(epoll)));
  // The timerfd is made here and not when the first alarm is set, so that a loop has the same fds all its life. It is
  // watched edge-triggered, so that no read has to clear it.
  poller->timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!poller->timer_) return fail(errno);
  const Result<void> added = poller->add(poller->timer_.get(), kAlarmKey, kReadable, true);
  return added ? Result<std::unique_ptr<Poller>>(std::move(poller)) : std::unexpected(added.error());
}

Result<void> EpollPoller::control(int operation, int fd, uint64_t key, uint32_t interest, bool edge) {
  epoll_event event{.events = to_epoll(interest, edge), .data = {.u64 = key}};
  return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0 ? Result<void>() : fail(errno);
}

void EpollPoller::modify(int fd, uint64_t key, uint32_t interest, bool edge) {
  const Result<void> done = control(EPOLL_CTL_MOD, fd, key, interest, edge);
  PEAL_ASSERT(done, "epoll_ctl(MOD, {}) failed: {}", fd, done.error().message());
}

void EpollPoller::remove(int fd, uint64_t /*key*/) {
  const Result<void> done = control(EPOLL_CTL_DEL, fd, 0, 0, false);
  PEAL_ASSERT(done, "epoll_ctl(DEL, {}) failed: {}", fd, done.error().message());
}

int EpollPoller::wait_until(epoll_event* events, int room, TimePoint deadline) {
  if (deadline == TimePoint::min()) return ::epoll_wait(epoll_.get(), events, room, 0);
  Duration left = std::max(deadline - monotonic_now(), Duration::zero());
  if (has_pwait2_) {
    const auto timeout = seconds_and_nanoseconds<timespec>(left);
    int count = ::epoll_pwait2(epoll_.get(), events, room, &timeout, nullptr);
    if (count >= 0 || errno != ENOSYS) return count;
    has_pwait2_ = false;  // Linux before 5.11, and valgrind 3.19, do not have epoll_pwait2.
  }
  // epoll_wait takes whole milliseconds. Rounding up makes sure that the wait does not end before the deadline.
  auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return ::epoll_wait(epoll_.get(), events, room, static_cast<int>(std::min<int64_t>(milliseconds, INT_MAX)));
}

void EpollPoller::set_alarm(TimePoint at) {
  const itimerspec when{.it_interval = {}, .it_value = seconds_and_nanoseconds<timespec>(at.time_since_epoch())};
  const int done = ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  PEAL_ASSERT(done == 0, "timerfd_settime failed with errno {}", errno);
}

// Removes the event of the alarm's timerfd from `events`. Returns how many events are left.
size_t EpollPoller::remove_alarm_event(std::span<PollEvent> events) {
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].key != kAlarmKey) continue;
    alarm_.rang();
    events[i] = events.back();
    return events.size() - 1;
  }
  return events.size();
}

// This is the fast path: most waits have no deadline, and many programs never set an alarm. Without an alarm there is
// nothing to do after epoll_wait(), so the compiler need not even save registers.
size_t EpollPoller::wait(std::span<PollEvent> events, TimePoint deadline) {
  if (deadline != kNever || alarm_.ever_set()) [[unlikely]]
    return wait_with_deadline(events, deadline);
  auto* ready = reinterpret_cast<epoll_event*>(events.data());
  const int count = ::epoll_wait(epoll_.get(), ready, static_cast<int>(events.size()), -1);
  return count >= 0 ? static_cast<size_t>(count) : check_interrupted();
}

size_t EpollPoller::wait_with_deadline(std::span<PollEvent> events, TimePoint deadline) {
  auto* ready = reinterpret_cast<epoll_event*>(events.data());
  const auto room = static_cast<int>(events.size());
  const bool rings = deadline == kNever || alarm_.ends_by(deadline, [this](TimePoint at) { set_alarm(at); });
  const int count = rings ? ::epoll_wait(epoll_.get(), ready, room, -1) : wait_until(ready, room, deadline);
  if (count < 0) return check_interrupted();
  return alarm_.ever_set() ? remove_alarm_event(events.first(static_cast<size_t>(count))) : static_cast<size_t>(count);
}

size_t EpollPoller::check_interrupted() {
  PEAL_ASSERT(errno == EINTR, "epoll_wait failed with errno {}", errno);
  return 0;
}

}  // namespace peal::detail
