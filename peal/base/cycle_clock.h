// SPDX-License-Identifier: BSD-3-Clause
// CycleClock reads the processor's cycle counter. It is for time stamps that are taken often and seldom read: taking a
// stamp costs one instruction, and the time is computed only when time_of() is called.
#pragma once

#include <cstdint>

#include <peal/base/clock.h>

namespace peal {

class CycleClock {
 public:
  // True if the kernel derives CLOCK_MONOTONIC from the processor's cycle counter; on x86 that is the clock source
  // "tsc". The counter then runs at a constant rate and is the same on every processor. If usable() is false, the
  // results of stamp() must not be used. Any thread. The kernel's setting is read at the first call only.
  static bool usable();

  // Returns the value of the processor's cycle counter. Always 0 on processors other than x86-64.
  static uint64_t stamp() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
  }

  // The time of CLOCK_MONOTONIC and the value of the cycle counter, read directly after each other. The time between
  // the two readings is the error of every result of time_of() that is computed from this Moment.
  struct Moment {
    TimePoint time;
    uint64_t stamp;
  };
  static Moment now() { return {monotonic_now(), stamp()}; }

  // Returns the time at which `stamp` was taken, interpolated between `first` and `last`, which must be different
  // moments. If the machine was suspended between them, the result is wrong by at most the length of the suspension.
  static TimePoint time_of(uint64_t stamp, const Moment& first, const Moment& last);
};

}  // namespace peal
