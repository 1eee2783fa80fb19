// SPDX-License-Identifier: BSD-3-Clause
// CycleClock: the processor's cycle counter, for stamps that are taken often and seldom read. A stamp costs one
// instruction; what time it was is worked out when somebody asks.
#pragma once

#include <cstdint>

#include <peal/base/clock.h>

namespace peal {

class CycleClock {
 public:
  // Whether the kernel itself tells CLOCK_MONOTONIC by this counter (x86: the clock source is "tsc"), so that it is
  // steady and the same on every processor. Elsewhere there are no stamps. Any thread; asked of the kernel once.
  static bool usable();
  static uint64_t stamp() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
  }

  // Both clocks at one moment; what lies between the two readings is the error of all that follows from it.
  struct Moment {
    TimePoint time;
    uint64_t stamp;
  };
  static Moment now() { return {monotonic_now(), stamp()}; }

  // When a stamp was taken, by two moments that are not the same. The machine's suspends in between make it wrong by up
  // to their length.
  static TimePoint time_of(uint64_t stamp, const Moment& first, const Moment& last);
};

}  // namespace peal
