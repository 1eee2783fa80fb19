// SPDX-License-Identifier: BSD-3-Clause
// Makes TLS in a simulated network the same in every run. OpenSSL's random bytes come from a seed, the certificate is
// constant, and certificates are checked by the simulated clock. The private key is public, so it protects nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <peal/sim/sim_world.h>

namespace peal::test {

// While the object exists, the seed determines OpenSSL's random bytes, on all threads. Only one object may exist at a
// time.
class SeededRandomness {
 public:
  explicit SeededRandomness(uint64_t seed);
  ~SeededRandomness();
  SeededRandomness(const SeededRandomness&) = delete;
  SeededRandomness& operator=(const SeededRandomness&) = delete;
};

// A certificate for "sim.test", valid until 2126, and its private key.
extern const std::string_view kSimCertificate;
extern const std::string_view kSimKey;

// While the object exists, sim_clock() returns the time of `world` as a date. TLS needs a date to check certificates.
// The time 0 of a SimWorld is January 1, 2030, because kSimCertificate is valid on that date. Only one object may exist
// at a time.
class SimClock {
 public:
  explicit SimClock(const SimWorld& world);
  ~SimClock();
  SimClock(const SimClock&) = delete;
  SimClock& operator=(const SimClock&) = delete;
};
std::chrono::sys_seconds sim_clock();

}  // namespace peal::test
