// SPDX-License-Identifier: BSD-3-Clause
// Timers, 5 of 5: two loops on two threads count together. Timers belong to their loop's thread; the count belongs to
// the main one, so the others post to it: no lock anywhere.
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
