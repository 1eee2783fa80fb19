// SPDX-License-Identifier: BSD-3-Clause
// Pacer: sends the messages of one thread (a lane) at the times of the send schedule. The connection that has been free
// longest takes the next message. If no connection is free, the message waits, but its latency still counts from its
// scheduled time. If the options have a deadline, a message that has waited longer is shed: it is counted, but never
// sent.
//
//   sleep (a timerfd)      spin (the loop polls)   due
//   ----------------------|=======================|---> send, look at the next
//                          ^ kSpinBefore earlier
//
// On our test machines, a sleep ends 20 to 90 us late. Therefore the pacer sleeps only until kSpinBefore before the
// scheduled time. After that, the loop polls without sleeping; this is called spinning. The time spent spinning is
// measured separately, because it is not part of the cost of a message. A pacer is used only on the thread of its lane.
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

  // Makes a pacer that sends messages on at most `connections` connections. Does not create a timer yet. The first call
  // of begin() creates the timer.
  Pacer(Lane& lane, Loop& loop, size_t connections);
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // Starts sending messages at the times of `arrivals`. May be called again after stop(), or when has_sent_all()
  // returns true. The first call creates a timer, so it can fail: with an error of timerfd_create(2), such as EMFILE,
  // or with an error of Engine::watch().
  Result<void> begin(const ArrivalCursor& arrivals);
  // Adds a session, which is one connection, to the list of free sessions. Does nothing if the session cannot send a
  // message now, or if it is already in the list. If messages are waiting for a free session, sends them now.
  void add(Session& session);
  // Returns how many messages the send schedule has from the call of begin() up to the time `now`. The result includes
  // messages that were not sent.
  uint64_t due_by(TimePoint now) const;
  // Ends the send schedule at the time `end`. Messages with a scheduled time up to `end` are still sent, unless their
  // deadline passes before they can be sent. Later messages are never sent. When no message is left to send,
  // has_sent_all() returns true.
  void finish(TimePoint end);
  bool has_sent_all() const { return next_due_ == kNever; }
  // Stops sending. Returns how many messages were scheduled up to the time `now`, but were not sent. The result does
  // not include messages that were dropped because they had waited longer than LoadOptions::deadline. Counts::shed
  // counts the dropped messages.
  uint64_t stop(TimePoint now);

 private:
  enum class State : uint8_t {
    kStopped,
    kAsleep,    // the timer is set, or no message is left
    kSpinning,  // the loop polls without sleeping; a posted task then calls step() again
    kStarved,   // no session is free; the next call of add() continues sending
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
  uint64_t taken_ = 0;  // how many messages of the schedule were sent or shed
  TimePoint next_due_ = kNever;
  TimePoint end_ = kNever;
  std::vector<Session*> free_;  // ring buffer of free sessions; the one that has been free longest comes first
  size_t free_first_ = 0;
  size_t free_count_ = 0;
  TimePoint spin_begin_;
  uint64_t events_before_ = 0;  // number of events that the engine had counted when the spinning began
  bool sent_ = false;           // a message was sent just before the poll, so the poll is work and not spinning
};

}  // namespace peal::load
