// SPDX-License-Identifier: BSD-3-Clause
// Finger, step 1 of 7: does not listen yet, so every connection is refused. The loop has no work and sleeps until
// Ctrl-C.
#include <peal/loop/loop.h>

int main() {
  peal::Loop loop;
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}
