// SPDX-License-Identifier: BSD-3-Clause
// Spin: how long a loop looks for events without sleeping before it sleeps. A sleep and its wake-up cost tens of
// microseconds of latency; spinning costs the core. A plain value.
#pragma once

#include <chrono>
#include <cstdint>

#include <peal/base/clock.h>

namespace peal {

struct Spin {
  enum class Mode : uint8_t {
    kOff,
    kBound,  // always up to `bound`, which is more than 0 and at most kMaxSpin
    kAuto,   // up to `bound`, only while recent waits would have ended inside it
  };
  Mode mode = Mode::kOff;
  Duration bound = std::chrono::microseconds(50);  // about what a sleep and its wake-up cost

  bool operator==(const Spin&) const = default;
};

inline constexpr Duration kMaxSpin = std::chrono::milliseconds(10);

}  // namespace peal
