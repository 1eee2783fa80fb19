// SPDX-License-Identifier: BSD-3-Clause
// DuelLoop: an event loop that the code of a duel runs while it waits for a condition. So this code reads from top to
// bottom, without callbacks. Use it on one thread only.
//
// SIGINT and SIGTERM do not end the process. They stop the DuelLoop. It also stops at the time that was set by
// end_at(). A stopped DuelLoop does not wait for anything any more.
#pragma once

#include <algorithm>
#include <memory>

#include <peal/base/result.h>
#include <peal/loop/loop.h>

namespace peal::load {

class DuelLoop {
 public:
  static Result<std::unique_ptr<DuelLoop>> make();
  ~DuelLoop();
  DuelLoop(const DuelLoop&) = delete;
  DuelLoop& operator=(const DuelLoop&) = delete;

  // Runs the event loop until `done` returns true. Calls `done` at the beginning and after each batch of events.
  // Returns true when `done` has returned true. Returns false if one of these happens first:
  // - The time `limit` is reached.
  // - The DuelLoop is stopped by a signal, or by the time that end_at() has set.
  template <class Done>
  bool until(TimePoint limit, Done done) {
    const TimerId timer = loop_->at(std::min(limit, over_at_), [] {});
    bool is_done = done();
    while (!is_done && !stopped() && now() < limit) {
      loop_->step();
      is_done = done();
    }
    loop_->cancel(timer);
    return is_done;
  }
  // Does the same as until(), and also calls `done` every 2 ms while there are no events. Use until_seen() for a
  // condition that no event reports, for example that a process has ended.
  template <class Done>
  bool until_seen(TimePoint limit, Done done) {
    const TimerId look = loop_->every(std::chrono::milliseconds(2), [] {});
    const bool is_done = until(limit, done);
    loop_->cancel(look);
    return is_done;
  }
  // Handles the events that have already happened, such as a signal. Does not wait for further events.
  void look() {
    loop_->post([] {});
    loop_->step();
  }
  void pass(Duration time) {
    until(now() + time, [] { return false; });
  }

  Loop& loop() { return *loop_; }
  TimePoint now() { return loop_->engine().now(); }
  // Returns whether SIGINT or SIGTERM has arrived.
  bool interrupted() const { return interrupted_; }
  void end_at(TimePoint over_at) { over_at_ = over_at; }
  bool stopped() { return interrupted_ || now() >= over_at_; }

 private:
  explicit DuelLoop(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

  std::unique_ptr<Loop> loop_;
  bool interrupted_ = false;
  TimePoint over_at_ = TimePoint::max();
};

}  // namespace peal::load
