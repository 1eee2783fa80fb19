// SPDX-License-Identifier: BSD-3-Clause
#include <load/pacer.h>

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <load/lane.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

constexpr Duration kLongestPoll = std::chrono::microseconds(5);

}  // namespace

Pacer::Pacer(Lane& lane, Loop& loop, size_t connections) : lane_(lane), loop_(loop), idle_(connections) {}

Result<void> Pacer::begin(const SendSchedule& schedule) {
  timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!timer_) return fail(errno);
  loop_.engine().watch(timer_.get(), true, false, *this);
  schedule_ = schedule;
  next_due_ = schedule.due(0);
  state_ = State::kStarved;
  step();
  return {};
}

void Pacer::add_idle(Session& session) {
  PEAL_ASSERT(idle_count_ < idle_.size(), "{} sessions idle of {}", idle_count_ + 1, idle_.size());
  idle_[(idle_first_ + idle_count_++) % idle_.size()] = &session;
  if (state_ == State::kStarved) step();
}

uint64_t Pacer::stop(TimePoint now) {
  state_ = State::kStopped;
  if (!schedule_) return 0;
  const uint64_t due = schedule_->due_by(now);
  return due > next_ ? due - next_ : 0;
}

Session* Pacer::take_idle() {
  while (idle_count_ > 0) {
    Session* session = idle_[idle_first_];
    if (++idle_first_ == idle_.size()) idle_first_ = 0;
    --idle_count_;
    if (session->open()) return session;
  }
  return nullptr;
}

void Pacer::on_ready(bool, bool) {
  uint64_t expirations = 0;
  const ssize_t read = ::read(timer_.get(), &expirations, sizeof expirations);
  PEAL_ASSERT(read > 0 || errno == EAGAIN, "reading a timer failed with errno {}", errno);
  if (state_ == State::kAsleep) step();
}

void Pacer::step() {
  TimePoint now = lane_.engine().now();
  if (state_ == State::kSpinning) account_spin(now);
  sent_ = false;
  send_due(now);
  if (idle_count_ == 0) {
    state_ = State::kStarved;
  } else if (next_due_ - now > kSpinBefore) {
    arm(next_due_ - kSpinBefore);
    state_ = State::kAsleep;
  } else {
    state_ = State::kSpinning;
    spin_begin_ = now;
    events_before_ = lane_.engine().stats().events;
    loop_.post([this] {
      if (state_ == State::kSpinning) step();
    });
  }
}

// "Sent" is when the engine was given the bytes: it writes them within the same turn.
void Pacer::send_due(TimePoint& now) {
  while (next_due_ <= now) {
    Session* session = take_idle();
    if (session == nullptr) return;
    Recording& recording = lane_.recording();
    now = lane_.engine().now();
    recording.send_lag->record((now - next_due_).count());
    if (session->lap.ended > next_due_) ++recording.counts.late_for_want;
    session->lap.due = next_due_;
    session->lap.sent = now;
    next_due_ = schedule_->due(++next_);
    sent_ = true;
    lane_.start(*session);
  }
}

// A poll in which nothing was found and nothing written was only a look at the clock. One that took longer than a poll
// can was not spinning all that time: somebody else had the core.
void Pacer::account_spin(TimePoint now) {
  if (sent_ || lane_.engine().stats().events != events_before_) return;
  lane_.recording().spin += std::min(now - spin_begin_, kLongestPoll);
}

void Pacer::arm(TimePoint at) {
  const auto since_boot = at.time_since_epoch();
  const itimerspec once{
      .it_interval = {},
      .it_value = {.tv_sec = since_boot.count() / 1'000'000'000, .tv_nsec = since_boot.count() % 1'000'000'000}};
  const int done = ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &once, nullptr);
  PEAL_ASSERT(done == 0, "arming a timer failed with errno {}", errno);
}

}  // namespace peal::load
