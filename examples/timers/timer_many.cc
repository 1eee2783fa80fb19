// SPDX-License-Identifier: BSD-3-Clause
// Timers, 2 of 5: starts several timers. They fire in the order of their deadlines, not in the order of the after()
// calls. A cancelled timer never fires.
#include <fmt/core.h>

#include <peal/loop/loop.h>

int main() {
  using std::chrono::milliseconds;
  peal::Loop loop;
  loop.after(milliseconds(30), [&] {
    fmt::print("third\n");
    loop.stop();
  });
  const peal::TimerId never = loop.after(milliseconds(20), [] { fmt::print("cancelled timers do not fire\n"); });
  loop.after(milliseconds(10), [&] { fmt::print("first\n"); });
  loop.after(milliseconds(15), [&] { fmt::print("second, and {} cancelled\n", loop.cancel(never) ? 1 : 0); });
  return loop.run() ? 0 : 1;
}
