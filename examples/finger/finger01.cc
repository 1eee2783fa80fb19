// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 1 of 7: refuses every connection by not listening at all. A loop with nothing to do sleeps until Ctrl-C.
#include <peal/loop/loop.h>

int main() {
  peal::Loop loop;
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}
