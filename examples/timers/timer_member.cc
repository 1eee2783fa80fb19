// SPDX-License-Identifier: BSD-3-Clause
// Timers, 4 of 5: shows an object that owns a timer. Its destructor cancels the timer, so that no callback uses a
// destroyed object. The callback starts the timer again for 10 ms later.
#include <fmt/core.h>

#include <peal/loop/loop.h>

class Countdown {
 public:
  Countdown(peal::Loop& loop, int from) : loop_(loop), left_(from) {
    timer_ = loop_.after(kStep, [this] { tick(); });
  }
  ~Countdown() { loop_.cancel(timer_); }
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

 private:
  static constexpr peal::Duration kStep = std::chrono::milliseconds(10);

  void tick() {
    fmt::print("{}\n", left_);
    if (left_-- > 0) {
      loop_.rearm(timer_, loop_.now() + kStep);
    } else {
      loop_.stop();
    }
  }

  peal::Loop& loop_;
  peal::TimerId timer_;
  int left_;
};

int main() {
  peal::Loop loop;
  const Countdown countdown(loop, 3);
  return loop.run() ? 0 : 1;
}
