// SPDX-License-Identifier: BSD-3-Clause
// Spin: how long a loop polls for events without sleeping before it sleeps. A sleep and its wake-up add tens of
// microseconds of latency. Spinning avoids them, but keeps the CPU core busy. A plain value.
#pragma once

#include <chrono>
#include <cstdint>

#include <peal/base/clock.h>

namespace peal {

struct Spin {
  enum class Mode : uint8_t {
    kOff,
    kBound,  // spins before every wait, up to `bound`
    kAuto,   // spins up to `bound`, but only while recent waits were short enough to end within `bound`
  };
  Mode mode = Mode::kOff;

  // The longest spin; > 0 and at most kMaxSpin. The default is about the cost of a sleep and its wake-up.
  Duration bound = std::chrono::microseconds(50);

  bool operator==(const Spin&) const = default;
};

inline constexpr Duration kMaxSpin = std::chrono::milliseconds(10);

}  // namespace peal
