// SPDX-License-Identifier: BSD-3-Clause
// What makes TLS in a simulated world the same in every run: OpenSSL's randomness from a seed, a certificate that does
// not change, of no secret worth keeping, and the world's clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <peal/sim/sim_world.h>

namespace peal::test {

// While it lives, what OpenSSL takes for random follows from the seed. One at a time; all threads.
class SeededRandomness {
 public:
  explicit SeededRandomness(uint64_t seed);
  ~SeededRandomness();
  SeededRandomness(const SeededRandomness&) = delete;
  SeededRandomness& operator=(const SeededRandomness&) = delete;
};

// Of "sim.test", until 2126.
extern const std::string_view kSimCertificate;
extern const std::string_view kSimKey;

// While one lives sim_clock() is that world's: its time 0 is the first of January 2030.
class SimClock {
 public:
  explicit SimClock(const SimWorld& world);
  ~SimClock();
  SimClock(const SimClock&) = delete;
  SimClock& operator=(const SimClock&) = delete;
};
std::chrono::sys_seconds sim_clock();

}  // namespace peal::test
