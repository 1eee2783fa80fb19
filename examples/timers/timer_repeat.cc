// SPDX-License-Identifier: BSD-3-Clause
// Timers, 3 of 5: starts a timer that fires every 10 ms. Its callback counts the calls, and cancels the timer after
// five.
#include <fmt/core.h>

#include <peal/loop/loop.h>

int main() {
  peal::Loop loop;
  peal::TimerId ticks;
  ticks = loop.every(std::chrono::milliseconds(10), [&, count = 0]() mutable {
    fmt::print("tick {}\n", ++count);
    if (count < 5) return;
    loop.cancel(ticks);
    loop.stop();
  });
  return loop.run() ? 0 : 1;
}
