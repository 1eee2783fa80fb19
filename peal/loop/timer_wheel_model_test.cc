// SPDX-License-Identifier: BSD-3-Clause
// Compares the wheel with a simple model: a map ordered by (tick, order of arming). Every operation is applied to both,
// outside of callbacks and inside them. At every call of a callback, the model must name the timer that fires.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/loop/timer_wheel.h>

namespace peal {
namespace {

constexpr int64_t kTick = 1'000'000;
constexpr int64_t kEnd = int64_t{1} << 62;

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {
    now_ = static_cast<int64_t>(random_() % (uint64_t{1} << (20 + seed % 35)));
    wheel_ = std::make_unique<TimerWheel>(TimePoint(Duration(now_)));
  }

  void step() {
    if (random_() % 4 == 0) {
      advance();
    } else {
      change();
    }
    check();
  }

  void finish() {
    for (const auto& [name, timer] : timers_) {
      if (timer.period > 0) wheel_->cancel(timer.id);
    }
    std::erase_if(timers_, [](const auto& entry) { return entry.second.period > 0; });
    std::erase_if(order_, [this](const auto& entry) { return !timers_.contains(entry.second); });
    changes_in_callbacks_ = false;
    advance_to(kNever.time_since_epoch().count());
    check();
    EXPECT_EQ(wheel_->size(), 0u);
  }

  std::size_t fired() const { return fired_; }

 private:
  using Key = std::pair<int64_t, uint64_t>;  // tick (0 if due when armed), order of arming
  struct Timer {
    TimerId id;
    Key key;
    int64_t due;
    int64_t period;
  };

  int64_t below_a_power_of_two(uint64_t powers) {
    const uint64_t mask = (uint64_t{1} << (random_() % powers)) - 1;
    return static_cast<int64_t>(random_() & mask);
  }

  // Returns a log-uniform deadline, so that every level is used. It is often on a slot's boundary and sometimes in the
  // past.
  int64_t some_deadline() {
    const uint64_t kind = random_() % 8;
    if (kind == 0) return now_ - static_cast<int64_t>(random_() % 3) * kTick;
    int64_t due = now_ + below_a_power_of_two(60);
    if (kind == 1) due = due / kTick * kTick;
    if (kind == 2) due = ((due / kTick) | 0xff) * kTick + static_cast<int64_t>(random_() % 3) - 1;
    if (kind == 3) due = (((due / kTick) | 0xffff) + 1) * kTick;
    return due;
  }

  void arm(uint64_t name, Timer& timer, int64_t due) {
    timer.due = std::max(due, int64_t{0});
    const int64_t tick = due <= now_ ? 0 : (due + kTick - 1) / kTick;
    timer.key = {tick, ++armed_};
    order_.emplace(timer.key, name);
  }

  void change() {
    const uint64_t what = random_() % 10;
    if (what < 5 || timers_.empty()) {
      const uint64_t name = ++names_;
      const int64_t due = some_deadline();
      const int64_t period = what == 0 ? 1 + below_a_power_of_two(50) : 0;
      auto callback = [this, name] { on_timer(name); };
      const TimePoint first{Duration(due)};
      Timer timer{{}, {}, 0, period};
      timer.id = period > 0 ? wheel_->add_every(first, Duration(period), callback) : wheel_->add(first, callback);
      arm(name, timer, due);
      timers_.emplace(name, timer);
      return;
    }
    auto chosen = timers_.lower_bound(random_() % names_);
    if (chosen == timers_.end()) chosen = timers_.begin();
    if (what < 8) {
      gone_.push_back(chosen->second.id);
      EXPECT_TRUE(wheel_->cancel(chosen->second.id));
      order_.erase(chosen->second.key);
      timers_.erase(chosen);
    } else {
      const int64_t due = some_deadline();
      EXPECT_TRUE(wheel_->rearm(chosen->second.id, TimePoint(Duration(due))));
      order_.erase(chosen->second.key);
      arm(chosen->first, chosen->second, due);
    }
    if (!gone_.empty()) {
      const TimerId late = gone_[random_() % gone_.size()];
      EXPECT_FALSE(wheel_->cancel(late));
      EXPECT_FALSE(wheel_->rearm(late, TimePoint()));
    }
  }

  // Returns the first timer that may fire in this advance, or the end of the map.
  std::map<Key, uint64_t>::iterator expected() {
    auto first = order_.begin();
    if (first != order_.end() && first->first.first == 0 && first->first.second > armed_at_start_) {
      first = order_.lower_bound({1, 0});
    }
    return first != order_.end() && first->first.first <= now_ / kTick ? first : order_.end();
  }

  void on_timer(uint64_t name) {
    ++fired_;
    const auto first = expected();
    ASSERT_NE(first, order_.end()) << "timer " << name << " fired early";
    ASSERT_EQ(first->second, name);
    order_.erase(first);
    Timer& timer = timers_.at(name);
    ASSERT_LE(timer.due, now_);
    if (timer.period > 0) {
      arm(name, timer, timer.due + ((now_ - timer.due) / timer.period + 1) * timer.period);
    } else if (changes_in_callbacks_ && random_() % 8 == 0) {
      const int64_t due = some_deadline();
      EXPECT_TRUE(wheel_->rearm(timer.id, TimePoint(Duration(due))));
      arm(name, timer, due);
    } else {
      EXPECT_FALSE(wheel_->cancel(timer.id));
      timers_.erase(name);
    }
    if (changes_in_callbacks_ && random_() % 2 == 0) change();
  }

  void advance() {
    int64_t by = 0;
    const uint64_t kind = random_() % 64;
    if (kind > 4) by = below_a_power_of_two(32);
    if (kind == 1 && !order_.empty()) {
      by = order_.begin()->first.first * kTick - now_ - static_cast<int64_t>(random_() % 2);
    }
    if (kind == 2) by = (wheel_->next() - TimePoint(Duration(now_))).count();
    if (kind == 3) by = below_a_power_of_two(56);
    if (by < kEnd - now_) advance_to(now_ + by);
  }

  void advance_to(int64_t now) {
    armed_at_start_ = armed_;
    now_ = std::max(now_, now);  // a step back counts as standing still
    const std::size_t before = fired_;
    const std::size_t count = wheel_->advance(TimePoint(Duration(now)));
    EXPECT_EQ(count, fired_ - before);
    EXPECT_EQ(expected(), order_.end()) << "timer " << expected()->second << " is late";
  }

  void check() {
    ASSERT_EQ(wheel_->size(), timers_.size());
    const int64_t next = wheel_->next().time_since_epoch().count();
    if (order_.empty()) {
      EXPECT_EQ(next, kNever.time_since_epoch().count());
    } else if (order_.begin()->first.first == 0) {
      EXPECT_LE(next, now_);
    } else {
      EXPECT_GT(next, now_);
      EXPECT_LE(next, order_.begin()->first.first * kTick);
    }
  }

  std::mt19937_64 random_;
  int64_t now_ = 0;
  uint64_t names_ = 0;
  uint64_t armed_ = 0;
  uint64_t armed_at_start_ = 0;
  std::size_t fired_ = 0;
  bool changes_in_callbacks_ = true;
  std::map<Key, uint64_t> order_;
  std::map<uint64_t, Timer> timers_;
  std::vector<TimerId> gone_;
  std::unique_ptr<TimerWheel> wheel_;
};

TEST(TimerWheelModel, random_work_agrees_with_an_ordered_map) {
  std::size_t fired = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model model(seed);
    for (int i = 0; i < 3000 && !HasFatalFailure() && !HasNonfatalFailure(); ++i) model.step();
    model.finish();
    fired += model.fired();
    if (HasFailure()) return;
  }
  EXPECT_GT(fired, 20'000u);  // enough timers fired for the comparison to mean something
}

}  // namespace
}  // namespace peal
