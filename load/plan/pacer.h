// SPDX-License-Identifier: BSD-3-Clause
// Pacer: sends one lane's messages when its arrivals say so. The connection that has been free longest takes the next
// message that is due; where none is free the message waits, and its latency counts from when it was due all the same.
// With a deadline, one that has waited longer is shed: counted, never sent.
//
//   sleep (a timerfd)      spin (the loop polls)   due
//   ----------------------|=======================|---> send, look at the next
//                          ^ kSpinBefore earlier
//
// A sleep ends 20 to 90 us late here, so the last part is spun. What spinning costs is measured, because it is no part
// of what a message costs. Belongs to the lane and its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <load/plan/arrivals.h>
#include <load/session/session.h>
#include <peal/base/fd.h>
#include <peal/loop/loop.h>

namespace peal::load {

class Pacer final : private WatchEvents {
 public:
  static constexpr Duration kSpinBefore = std::chrono::microseconds(150);

  // For at most `connections` sessions. The timer is made by begin().
  Pacer(Lane& lane, Loop& loop, size_t connections);
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // Sends from now on; again after stop() or once all is sent. EMFILE and the like: there is no fd left for the timer.
  Result<void> begin(const ArrivalCursor& arrivals);
  // A session that has room. It may close later: then it is passed over.
  void add(Session& session);
  // How many messages were due by then, since begin().
  uint64_t due_by(TimePoint now) const;
  // Sends what is due by `end`, and no more; has_sent_all() says when.
  void finish(TimePoint end);
  bool has_sent_all() const { return next_due_ == kNever; }
  // Sends no more; returns how many messages were due before `now` and were neither sent nor past their deadline.
  uint64_t stop(TimePoint now);

 private:
  enum class State : uint8_t {
    kStopped,
    kAsleep,    // the timer is armed, or nothing more is due
    kSpinning,  // posted: the loop polls, then comes back here
    kStarved,   // a message is to be sent and no session is free: add() goes on
  };

  void on_ready(bool readable, bool writable) override;
  void on_unwatched() override {}
  void step();
  void send_due(TimePoint& now);
  void shed_late(TimePoint now);
  void next();
  void look_ahead();
  void account_spin(TimePoint now);
  void arm(TimePoint at);
  void put_last(Session& session);
  Session* take_free();

  Lane& lane_;
  Loop& loop_;
  Fd timer_;
  std::optional<ArrivalCursor> arrivals_;
  State state_ = State::kStopped;
  uint64_t taken_ = 0;  // of the arrivals: sent or shed
  TimePoint next_due_ = kNever;
  TimePoint end_ = kNever;
  std::vector<Session*> free_;  // a ring, the one free longest first
  size_t free_first_ = 0;
  size_t free_count_ = 0;
  TimePoint spin_begin_;
  uint64_t events_before_ = 0;  // of the engine, when the spin began
  bool sent_ = false;           // in this step: the poll that follows works, it does not spin
};

}  // namespace peal::load
