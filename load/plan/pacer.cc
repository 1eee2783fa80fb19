// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/pacer.h>

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <load/session/lane.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

constexpr Duration kLongestPoll = std::chrono::microseconds(5);

}  // namespace

Pacer::Pacer(Lane& lane, Loop& loop, size_t connections) : lane_(lane), loop_(loop), free_(connections) {}

Result<void> Pacer::begin(const ArrivalCursor& arrivals) {
  if (!timer_) {
    Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!timer) return fail(errno);
    if (const auto watch = loop_.engine().watch(timer.get(), true, false, *this); !watch) {
      return std::unexpected(watch.error());
    }
    timer_ = std::move(timer);
  }
  arrivals_ = arrivals;
  taken_ = 0;
  end_ = kNever;
  look_ahead();
  state_ = State::kStarved;
  step();
  return {};
}

void Pacer::add(Session& session) {
  put_last(session);
  if (state_ == State::kStarved) step();
}

void Pacer::put_last(Session& session) {
  if (session.notes.queued || session.room() == 0) return;
  PEAL_ASSERT(free_count_ < free_.size(), "{} sessions are free, but the lane has only {}", free_count_ + 1,
              free_.size());
  session.notes.queued = true;
  free_[(free_first_ + free_count_++) % free_.size()] = &session;
}

uint64_t Pacer::due_by(TimePoint now) const { return arrivals_ ? taken_ + arrivals_->due_by(now) : 0; }

void Pacer::finish(TimePoint end) {
  end_ = end;
  if (arrivals_) look_ahead();
}

uint64_t Pacer::stop(TimePoint now) {
  if (!arrivals_) return 0;
  shed_late(now);
  state_ = State::kStopped;
  return arrivals_->due_by(now);
}

Session* Pacer::take_free() {
  while (free_count_ > 0) {
    Session* session = free_[free_first_];
    if (++free_first_ == free_.size()) free_first_ = 0;
    --free_count_;
    session->notes.queued = false;
    if (session->room() > 0) return session;
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
  if (free_count_ == 0) {
    state_ = State::kStarved;
  } else if (next_due_ == kNever) {
    state_ = State::kAsleep;
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

// Sends all messages whose scheduled time has come, except those that are shed because their deadline has passed. Stops
// earlier if no connection is free. Sets `now` to the time of the last message that was sent. A message counts as sent
// when the engine has got its bytes. The engine writes the bytes to the socket in the same iteration of the event loop.
void Pacer::send_due(TimePoint& now) {
  shed_late(now);
  while (next_due_ <= now) {
    Session* session = take_free();
    if (session == nullptr) return;
    Recording& recording = lane_.recording();
    now = lane_.engine().now();
    recording.send_lag->record((now - next_due_).count());
    if (std::max(session->answered_at(), session->since()) > next_due_) ++recording.counts.late_for_want;
    const TimePoint due = next_due_;
    next();
    sent_ = true;
    lane_.start(*session, 1, due, now);
    put_last(*session);
    shed_late(now);
  }
}

void Pacer::next() {
  arrivals_->advance();
  ++taken_;
  look_ahead();
}

void Pacer::look_ahead() {
  next_due_ = arrivals_->due();
  if (next_due_ > end_) next_due_ = kNever;
}

void Pacer::shed_late(TimePoint now) {
  const std::optional<Duration>& deadline = lane_.options().deadline;
  if (!deadline) return;
  const TimePoint limit = now - *deadline;
  if (next_due_ >= limit) return;
  const uint64_t shed = arrivals_->pass_before(limit);
  lane_.recording().counts.shed += shed;
  taken_ += shed;
  look_ahead();
}

// Adds the length of the last poll to the total time of busy polling. There are two exceptions:
// - If a message was written or an event was received during the poll, nothing is added, because the poll was useful
//   work.
// - If more than 5 us (kLongestPoll) have passed, only 5 us are added. A poll takes less than 5 us of CPU time. If more
//   time has passed, another thread has used the core during the rest of the time.
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
