// SPDX-License-Identifier: BSD-3-Clause
// Timers, 1 of 5: waits for one timer. The loop sleeps in the kernel until the timer fires. The callback of the timer
// stops the loop.
#include <fmt/core.h>

#include <peal/loop/loop.h>

int main() {
  peal::Loop loop;
  loop.after(std::chrono::milliseconds(50), [&] { loop.stop(); });
  if (!loop.run()) return 1;
  fmt::print("50 ms have passed\n");
}
