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

// What liburing 2.3 has no name for yet.
constexpr unsigned kEnterAbsTimer = 1U << 5;  // IORING_ENTER_ABS_TIMER, Linux 6.12

// Tags of requests that are no fd's; no engine's keys, for the kinds they would name do not exist.
constexpr uint64_t kAlarmTag = ~uint64_t{0};
constexpr uint64_t kCancelTag = ~uint64_t{1};
constexpr uint64_t kCloseTag = ~uint64_t{2};
constexpr uint64_t kMoveTag = ~uint64_t{3};

// A socket that has data wakes its polls with these bits together, whether or not it has urgent data; the kernel hands
// on what it was woken with, or, woken twice, the true state, in which a socket is never ready for RDBAND. So PRI means
// something where RDBAND is missing.
constexpr uint32_t kWokenBits = POLLPRI | POLLRDBAND;

uint32_t to_poll(uint32_t interest, bool edge) {
  if ((interest & kReadable) == 0) return interest;
  return edge ? interest | kReadersNews | kWokenBits : interest | POLLRDHUP;
}

// A stream's key names no kind.
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

// The queue of requests is full: submits it without waiting. A kernel whose completion queue is full may refuse, so
// completions move aside.
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

// The request of `key` completes with -ECANCELED, or there is none and the cancel fails.
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
  PEAL_ASSERT(edge, "what fd {} is polled for, level-triggered, is changed", fd);
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

// MSG_DONTWAIT: it is done, whole or not, when the kernel has taken the request.
void UringPoller::send(int fd, uint64_t key, std::string_view bytes) {
  io_uring_sqe& sqe = request(IORING_OP_SEND, fd, key | kPollerKeyBit);
  sqe.addr = reinterpret_cast<uintptr_t>(bytes.data());
  sqe.len = static_cast<uint32_t>(bytes.size());
  sqe.msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (batch_.add(CycleClock::stamp())) enter_kernel(publish(), 0, 0, nullptr, 0);
}

void UringPoller::finish_removals() {
  constexpr int kMostIdle = 10'000;
  for (int idle = 0; cancels_ > 0; ++idle) {
    PEAL_ASSERT(idle < kMostIdle, "{} polls of a ring do not end", cancels_);
    enter_kernel(publish(), 0, IORING_ENTER_GETEVENTS, nullptr, 0);
    if (drain_ring() > 0) idle = 0;
  }
}

// Arms again the level-triggered polls that have reported.
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

// An alarm that the kernel has already is moved: it would keep a second one, until its time, beside the first.
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
  // EBUSY and EAGAIN: the kernel is short of room or memory. What it did not take stays queued for the next trip.
  const bool passing = result == -ETIME || result == -EINTR || result == -EBUSY || result == -EAGAIN;
  PEAL_ASSERT(result >= 0 || passing || probing_, "io_uring_enter failed with {}; no thread but its own may use a ring",
              result);
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

// Submits what is queued and waits until `deadline`, unless there is something to tell already. In one trip the kernel
// handles 20 of what is due (since Linux 6.13). A turn that waits takes these, for they are warm; one that does not has
// work of its own, which would come as often as 20 events: it takes all that is due, up to `room`.
void UringPoller::submit_and_wait(TimePoint deadline, size_t room) {
  const unsigned submit = publish();
  if (deadline == TimePoint::min() || pending_taken_ < pending_completions_.size() ||
      io_uring_cq_ready(ring_.get()) > 0) {
    constexpr unsigned kNews = IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW;
    const auto has_news = [this] { return (IO_URING_READ_ONCE(*ring_->sq.kflags) & kNews) != 0; };
    const auto ready = [this] { return io_uring_cq_ready(ring_.get()); };
    size_t had = room;
    // Who adds to what is due may set the flag when that has been handled already, and then no trip takes it back: one
    // that has brought nothing is the last.
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

// Takes all that is on the ring; how many there were.
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

// Fills `events` from `count` on; how many there are then. `plain`: what goes on after its event is polled for edges.
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

// With a deadline, or something to arm again, or what was put aside.
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

// Completions of which nobody outside hears.
bool UringPoller::handle_own(const Completion& completion) {
  switch (completion.tag) {
    case kAlarmTag:
      alarm_.rang();
      --alarms_;
      return true;
    case kMoveTag:
      // It was ringing already, and that is told beside this.
      PEAL_ASSERT(completion.result == -ENOENT || completion.result == -EALREADY, "moving the alarm gave {}",
                  completion.result);
      return true;
    case kCancelTag:
      PEAL_ASSERT(completion.result == -ENOENT, "the cancel of a poll gave {}", completion.result);
      --cancels_;
      return true;
    case kCloseTag: PEAL_ASSERT(false, "closing by the ring gave {}", completion.result); return true;
    default: break;
  }
  if (completion.result != -ECANCELED) return false;
  PEAL_ASSERT(cancels_ > 0, "the poll of key {:#x} was canceled unasked", completion.tag);
  --cancels_;
  if (auto found = levels_.find(completion.tag); found != levels_.end()) found->second.armed = false;
  return true;
}

// False when there is nothing to tell of it.
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

// The kernel adds POLLRDHUP to what anybody asks for. Where nobody reads, a FIN is not wanted and stays true: then the
// next request waits for a change.
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
