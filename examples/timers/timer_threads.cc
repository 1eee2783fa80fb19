// SPDX-License-Identifier: BSD-3-Clause
// Timers, 5 of 5: counts the timers of two loops on two threads. Each timer runs on the thread of its loop, and posts
// to the main loop. Only the main thread uses the count, so the count needs no lock.
#include <fmt/core.h>

#include <peal/loop/loop_group.h>

int main() {
  constexpr int kTicks = 10;
  peal::Loop loop;
  auto group = peal::LoopGroup::start(2);
  if (!group) return 1;
  int count = 0;
  auto counted = [&](size_t from) {
    fmt::print("{} from thread {}\n", ++count, from);
    if (count == kTicks) loop.stop();
  };
  for (size_t i = 0; i < (*group)->size(); ++i) {
    peal::Loop& other = (**group)[i];
    other.post([&, i] {
      other.every(std::chrono::milliseconds(10), [&, i] {
        loop.post([&, i] {
          if (count < kTicks) counted(i);
        });
      });
    });
  }
  return loop.run() ? 0 : 1;
}
