// SPDX-License-Identifier: BSD-3-Clause
// DuelLoop: a loop that is run as far as something awaited, so that a duel reads from top to bottom. One thread. SIGINT
// and SIGTERM are noted instead of ending the process; after one of them, or when the time is over, nothing is waited
// for any more.
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

  // Runs until `done`, which is asked after each turn. False: the limit came first, or a signal.
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
  // The same for what no event tells of: asked every 2 ms as well.
  template <class Done>
  bool until_seen(TimePoint limit, Done done) {
    const TimerId look = loop_->every(std::chrono::milliseconds(2), [] {});
    const bool is_done = until(limit, done);
    loop_->cancel(look);
    return is_done;
  }
  // Hears of signals, and of whatever else is there already, without waiting.
  void look() {
    loop_->post([] {});
    loop_->step();
  }
  void pass(Duration time) {
    until(now() + time, [] { return false; });
  }

  Loop& loop() { return *loop_; }
  TimePoint now() { return loop_->engine().now(); }
  // By a signal.
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
