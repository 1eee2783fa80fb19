// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/uring/parts/uring_poller.h>

#include <liburing.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <peal/base/assert.h>
#include <peal/base/cycle_clock.h>
#include <peal/engine/uring/parts/ring_close_note.h>

namespace peal::detail {
namespace {

// A flag that liburing 2.3 does not define yet; its name is beside its value.
constexpr unsigned kEnterAbsTimer = 1U << 5;  // IORING_ENTER_ABS_TIMER, Linux 6.12

// Tags of requests that belong to no fd. No key of an engine equals them, because their low bits name a kind that does
// not exist.
constexpr uint64_t kAlarmTag = ~uint64_t{0};
constexpr uint64_t kCancelTag = ~uint64_t{1};
constexpr uint64_t kCloseTag = ~uint64_t{2};
constexpr uint64_t kMoveTag = ~uint64_t{3};

// When data arrives, a socket wakes its polls with both of these bits, whether or not the data is urgent. The kernel
// then reports the bits with which a poll was woken. If a poll was woken twice, the kernel reports the socket's true
// readiness instead, which never includes POLLRDBAND. So POLLPRI means urgent data only if POLLRDBAND is missing.
constexpr uint32_t kWokenBits = POLLPRI | POLLRDBAND;

uint32_t to_poll(uint32_t interest, bool edge) {
  if ((interest & kReadable) == 0) return interest;
  return edge ? interest | kReadersNews | kWokenBits : interest | POLLRDHUP;
}

// Returns whether the tag is that of a send. Such a tag is the key of a stream with kPollerKeyBit set; the other five
// of the low six bits are 0.
bool is_send(uint64_t tag) { return (tag & (kPollerKeyBit * 2 - 1)) == kPollerKeyBit; }

uint32_t outcome_of(int32_t result) {
  return result >= 0 ? kSent | static_cast<uint32_t>(result) : kSent | kSendFailed | static_cast<uint32_t>(-result);
}

uint32_t readiness_of(int32_t result) {
  const auto told = static_cast<uint32_t>(result);
  return (told & POLLRDBAND) != 0 ? told & ~kWokenBits : told;
}

}  // namespace

io_uring_sqe& UringPoller::request(int operation, int fd, uint64_t tag) {
  io_uring_sq& sq = ring_->sq;
  if (sq.sqe_tail - *sq.khead >= sq.ring_entries) [[unlikely]]
    make_room();
  io_uring_sqe& sqe = sq.sqes[sq.sqe_tail++ & sq.ring_mask];
  std::memset(&sqe, 0, sizeof sqe);
  sqe.opcode = static_cast<uint8_t>(operation);
  sqe.fd = fd;
  sqe.user_data = tag;
  return sqe;
}

// Makes room in the full queue of requests: submits the requests without waiting. If its completion queue is full, the
// kernel may refuse them. Completions are therefore moved off the ring, too.
void UringPoller::make_room() {
  const io_uring_sq& sq = ring_->sq;
  do {
    enter_kernel(publish(), 0, IORING_ENTER_GETEVENTS, nullptr, 0);
    drain_ring();
  } while (sq.sqe_tail - *sq.khead >= sq.ring_entries);
}

void UringPoller::arm(int fd, uint64_t key, uint32_t interest, bool edges) {
  io_uring_sqe& sqe = request(IORING_OP_POLL_ADD, fd, key);
  sqe.poll32_events = __io_uring_prep_poll_mask(to_poll(interest, edges));
  if (edges) sqe.len = IORING_POLL_ADD_MULTI;
}

// Cancels the request of `key`. If the kernel has such a request, the request completes with -ECANCELED. Otherwise the
// cancel itself fails with -ENOENT.
void UringPoller::cancel(uint64_t key) {
  io_uring_sqe& sqe = request(IORING_OP_ASYNC_CANCEL, -1, kCancelTag);
  sqe.addr = key;
  sqe.flags = IOSQE_CQE_SKIP_SUCCESS;
  ++cancels_;
}

Result<void> UringPoller::add(int fd, uint64_t key, uint32_t interest, bool edge) {
  if (!edge) levels_[key] = {.fd = fd, .interest = interest, .armed = true};
  arm(fd, key, interest, edge);
  return {};
}

void UringPoller::modify(int fd, uint64_t key, uint32_t interest, bool edge) {
  PEAL_ASSERT(edge, "the interest of fd {}, which is level-triggered, is changed", fd);
  cancel(key);
  finish_removals();
  arm(fd, key, interest, true);
}

void UringPoller::remove(int /*fd*/, uint64_t key) {
  bool armed = true;
  if (auto found = levels_.find(key); found != levels_.end()) {
    armed = found->second.armed;
    if (found->second.edges) --edged_levels_;
    levels_.erase(found);
  }
  if (!armed) return;
  cancel(key);
  finish_removals();
}

void UringPoller::close(Fd fd, uint64_t key) {
  cancel(key);
  const int number = std::move(fd).release();
  note_ring_close(number);
  request(IORING_OP_CLOSE, number, kCloseTag).flags = IOSQE_CQE_SKIP_SUCCESS;
}

// Requests a send. With MSG_DONTWAIT the send ends as soon as the kernel takes the request, even if only a part was
// sent.
void UringPoller::send(int fd, uint64_t key, std::string_view bytes) {
  io_uring_sqe& sqe = request(IORING_OP_SEND, fd, key | kPollerKeyBit);
  sqe.addr = reinterpret_cast<uintptr_t>(bytes.data());
  sqe.len = static_cast<uint32_t>(bytes.size());
  sqe.msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (batch_.add(CycleClock::stamp())) enter_kernel(publish(), 0, 0, nullptr, 0);
}

// Submits the queued requests, and takes completions off the ring until every cancel is confirmed.
void UringPoller::finish_removals() {
  constexpr int kMostIdle = 10'000;
  for (int idle = 0; cancels_ > 0; ++idle) {
    PEAL_ASSERT(idle < kMostIdle, "{} cancels of a ring are never confirmed", cancels_);
    enter_kernel(publish(), 0, IORING_ENTER_GETEVENTS, nullptr, 0);
    if (drain_ring() > 0) idle = 0;
  }
}

// Makes a new poll request for each level-triggered fd whose last request has reported an event.
void UringPoller::rearm_levels() {
  for (uint64_t key : std::exchange(to_rearm_, {})) {
    auto found = levels_.find(key);
    if (found == levels_.end()) continue;
    Level& level = found->second;
    if (level.armed) {
      cancel(key);
      finish_removals();
    }
    arm(level.fd, key, level.interest, level.edges);
    level.armed = true;
  }
}

// Sets the alarm to `at`. If an alarm is set already, it is moved, because a second alarm would not replace the first
// one.
void UringPoller::set_alarm(TimePoint at) {
  alarm_time_ = seconds_and_nanoseconds<__kernel_timespec>(at.time_since_epoch());
  const auto time = reinterpret_cast<uintptr_t>(&alarm_time_);
  if (alarms_ > 0) {
    io_uring_sqe& sqe = request(IORING_OP_TIMEOUT_REMOVE, -1, kMoveTag);
    sqe.addr = kAlarmTag;
    sqe.addr2 = time;
    sqe.timeout_flags = IORING_TIMEOUT_UPDATE | IORING_TIMEOUT_ABS;
    sqe.flags = IOSQE_CQE_SKIP_SUCCESS;
    return;
  }
  io_uring_sqe& sqe = request(IORING_OP_TIMEOUT, -1, kAlarmTag);
  sqe.addr = time;
  sqe.len = 1;
  sqe.timeout_flags = IORING_TIMEOUT_ABS;
  ++alarms_;
}

void UringPoller::end_batch() {
  if (!batch_.finish(CycleClock::stamp())) return;
  takes_sends_ = false;
  has_pending_work_ = true;
}

[[gnu::always_inline]] inline unsigned UringPoller::publish() {
  io_uring_sq& sq = ring_->sq;
  if (sq.sqe_head != sq.sqe_tail) {
    if (!batch_.empty()) [[unlikely]]
      end_batch();
    sq.sqe_head = sq.sqe_tail;
    io_uring_smp_store_release(sq.ktail, sq.sqe_tail);
  }
  return sq.sqe_tail - *sq.khead;
}

int UringPoller::enter_kernel(unsigned submit, unsigned least, unsigned flags, const void* argument, size_t size) {
  const int result = io_uring_enter2(static_cast<unsigned>(ring_->enter_ring_fd), submit, least, flags | enter_flags_,
                                     static_cast<sigset_t*>(const_cast<void*>(argument)), size);
  // EBUSY and EAGAIN mean that the kernel lacks room or memory. Requests that the kernel did not take stay queued for
  // the next call.
  const bool passing = result == -ETIME || result == -EINTR || result == -EBUSY || result == -EAGAIN;
  PEAL_ASSERT(result >= 0 || passing || probing_,
              "io_uring_enter failed with {}; only the thread that made a ring may use it", result);
  return result;
}

int UringPoller::submit_and_wait_until(unsigned submit, TimePoint deadline) {
  const unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG | (takes_absolute_time_ ? kEnterAbsTimer : 0U);
  Duration time = deadline.time_since_epoch();
  if (!takes_absolute_time_) time = std::max(deadline - monotonic_now(), Duration::zero());
  auto until = seconds_and_nanoseconds<__kernel_timespec>(time);
  io_uring_getevents_arg argument{};
  argument.sigmask_sz = _NSIG / 8;
  argument.ts = reinterpret_cast<uintptr_t>(&until);
  return enter_kernel(submit, 1, flags, &argument, sizeof argument);
}

// Submits the queued requests and waits until `deadline`. Does not wait if there are completions already. Since Linux
// 6.13, the kernel handles only 20 of the completions that are due in one system call:
// - If the call waits, 20 are enough, because their data is still warm in the cache when the engine reads it.
// - If the call must not wait, the loop has other work to do. That work would then run after every 20 events. So the
//   call is repeated until all due completions, or `room` of them, were taken.
void UringPoller::submit_and_wait(TimePoint deadline, size_t room) {
  const unsigned submit = publish();
  if (deadline == TimePoint::min() || pending_taken_ < pending_completions_.size() ||
      io_uring_cq_ready(ring_.get()) > 0) {
    constexpr unsigned kNews = IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW;
    const auto has_news = [this] { return (IO_URING_READ_ONCE(*ring_->sq.kflags) & kNews) != 0; };
    const auto ready = [this] { return io_uring_cq_ready(ring_.get()); };
    size_t had = room;
    // Another thread that completes a request sets IORING_SQ_TASKRUN, perhaps after the completion was handled already.
    // No call would clear the flag then. So the loop also ends after a call that brought no completion.
    for (unsigned left = submit; left > 0 || (has_news() && ready() < room && ready() != had); left = 0) {
      had = ready();
      enter_kernel(left, 0, IORING_ENTER_GETEVENTS, nullptr, 0);
    }
  } else if (deadline == kNever) {
    enter_kernel(submit, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
  } else {
    submit_and_wait_until(submit, deadline);
  }
}

// Takes all completions off the ring. Those that make an event are moved to pending_completions_; handle_own() handles
// the others. Returns how many completions there were.
size_t UringPoller::drain_ring() {
  io_uring_cq& cq = ring_->cq;
  unsigned head = *cq.khead;
  const unsigned count = io_uring_smp_load_acquire(cq.ktail) - head;
  if (pending_taken_ == pending_completions_.size()) {
    pending_completions_.clear();
    pending_taken_ = 0;
  }
  for (unsigned i = 0; i < count; ++i, ++head) {
    const io_uring_cqe& cqe = cq.cqes[head & cq.ring_mask];
    const Completion completion{cqe.user_data, cqe.res, cqe.flags};
    if (handle_own(completion)) continue;
    pending_completions_.push_back(completion);
    has_pending_work_ = true;
  }
  io_uring_smp_store_release(cq.khead, head);
  return count;
}

// Writes events to `events` from index `count` on, up to `room`, and returns the new count. `plain` must be false if
// the request of any level-triggered fd reports only changes. If `plain` is true, every request that stays armed
// (IORING_CQE_F_MORE) belongs to a stream and needs no look-up.
[[gnu::always_inline]] inline size_t UringPoller::take_events(PollEvent* events, size_t count, size_t room,
                                                              bool plain) {
  io_uring_cq& cq = ring_->cq;
  const io_uring_cqe* const cqes = cq.cqes;
  const unsigned mask = cq.ring_mask;
  unsigned head = *cq.khead;
  const unsigned tail = io_uring_smp_load_acquire(cq.ktail);
  for (; head != tail && count < room; ++head) {
    const io_uring_cqe& cqe = cqes[head & mask];
    if ((cqe.flags & IORING_CQE_F_MORE) != 0 && plain) [[likely]] {
      events[count++] = {.readiness = readiness_of(cqe.res), .key = cqe.user_data};
    } else if (is_send(cqe.user_data)) {
      events[count++] = {.readiness = outcome_of(cqe.res), .key = cqe.user_data - kPollerKeyBit};
    } else if (make_event({cqe.user_data, cqe.res, cqe.flags}, events[count])) {
      ++count;
    }
  }
  io_uring_smp_store_release(cq.khead, head);
  return count;
}

size_t UringPoller::wait(std::span<PollEvent> events, TimePoint deadline) {
  if (deadline != kNever || has_pending_work_) [[unlikely]]
    return wait_with_pending_work(events, deadline);
  const unsigned submit = publish();
  if (submit > 0 || io_uring_cq_ready(ring_.get()) == 0) [[likely]]
    enter_kernel(submit, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
  return take_events(events.data(), 0, events.size(), true);
}

// Does what wait() does in the cases that the fast path of wait() leaves out:
// - the wait has a deadline;
// - the poll request of a level-triggered fd must be made again;
// - completions were taken off the ring before this wait;
// - batching pauses, so turns with events must be counted.
size_t UringPoller::wait_with_pending_work(std::span<PollEvent> events, TimePoint deadline) {
  if (!to_rearm_.empty()) rearm_levels();
  if (deadline != kNever && alarm_.ends_by(deadline, [this](TimePoint at) { set_alarm(at); })) deadline = kNever;
  submit_and_wait(deadline, events.size());
  size_t count = 0;
  while (pending_taken_ < pending_completions_.size() && count < events.size()) {
    if (make_event(pending_completions_[pending_taken_++], events[count])) ++count;
  }
  count = take_events(events.data(), count, events.size(), edged_levels_ == 0);
  if (count > 0 && batch_.paused()) batch_.count_turn(CycleClock::stamp());
  takes_sends_ = !batch_.paused();
  has_pending_work_ =
      pending_taken_ < pending_completions_.size() || !to_rearm_.empty() || edged_levels_ > 0 || batch_.paused();
  return count;
}

// Handles the completion of an alarm, a cancel, a close or a cancelled poll; none of these makes an event. For any
// other completion, does nothing and returns false.
bool UringPoller::handle_own(const Completion& completion) {
  switch (completion.tag) {
    case kAlarmTag:
      alarm_.rang();
      --alarms_;
      return true;
    case kMoveTag:
      // The alarm could not be moved, because it was ringing already. The alarm's own completion reports that it rang.
      PEAL_ASSERT(completion.result == -ENOENT || completion.result == -EALREADY, "moving the alarm ended with {}",
                  completion.result);
      return true;
    case kCancelTag:
      PEAL_ASSERT(completion.result == -ENOENT, "the cancel of a poll ended with {}", completion.result);
      --cancels_;
      return true;
    case kCloseTag: PEAL_ASSERT(false, "closing an fd by the ring ended with {}", completion.result); return true;
    default: break;
  }
  if (completion.result != -ECANCELED) return false;
  PEAL_ASSERT(cancels_ > 0, "the poll of key {:#x} was canceled by nobody", completion.tag);
  --cancels_;
  if (auto found = levels_.find(completion.tag); found != levels_.end()) found->second.armed = false;
  return true;
}

// Converts a completion to an event. Returns false if the completion makes no event.
bool UringPoller::make_event(const Completion& completion, PollEvent& event) {
  if (is_send(completion.tag)) {
    event = {.readiness = outcome_of(completion.result), .key = completion.tag - kPollerKeyBit};
    return true;
  }
  if (handle_own(completion)) return false;
  auto found = levels_.find(completion.tag);
  if (found != levels_.end()) return make_level_event(found->second, completion, event);
  event = {.readiness = completion.result < 0 ? uint32_t{POLLERR} : readiness_of(completion.result),
           .key = completion.tag};
  if ((completion.flags & IORING_CQE_F_MORE) == 0) event.readiness |= kRegistrationLost;
  return true;
}

// Converts the completion of a level-triggered fd to an event. Returns false if there is no event. The kernel adds
// POLLRDHUP to every request, so it reports a FIN even if the fd is not watched for reading. Such a FIN is not wanted
// and stays true, so the next request reports only changes.
bool UringPoller::make_level_event(Level& level, const Completion& completion, PollEvent& event) {
  level.armed = (completion.flags & IORING_CQE_F_MORE) != 0;
  uint32_t told = completion.result < 0 ? uint32_t{POLLERR} : readiness_of(completion.result);
  if ((level.interest & kReadable) == 0) told &= ~uint32_t{POLLRDHUP};
  const bool edges = told == 0;
  if (level.armed && edges) return false;
  if (edges && !level.edges) ++edged_levels_;
  if (!edges && level.edges) --edged_levels_;
  level.edges = edges;
  to_rearm_.push_back(completion.tag);
  has_pending_work_ = true;
  event = {.readiness = told, .key = completion.tag};
  return !edges;
}

}  // namespace peal::detail
