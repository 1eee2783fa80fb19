// SPDX-License-Identifier: BSD-3-Clause
// Spin: how long a loop looks for events without sleeping before it sleeps. A sleep and its wake-up cost tens of
// microseconds of latency; spinning costs the core. A plain value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/base/result.h>

namespace peal {

struct Spin {
  enum class Mode : uint8_t {
    kOff,
    kBound,  // always up to `bound`
    kAuto,   // up to `bound`, only while recent waits would have ended inside it
  };
  Mode mode = Mode::kOff;
  Duration bound = std::chrono::microseconds(50);  // about what a sleep and its wake-up cost

  // "off", "auto", or a bound such as "50us" (a whole number of ns, us or ms; more than 0, at most 10 ms). EINVAL for
  // anything else.
  static Result<Spin> parse(std::string_view text);

  bool operator==(const Spin&) const = default;
};

inline constexpr Duration kMaxSpin = std::chrono::milliseconds(10);

}  // namespace peal
