// SPDX-License-Identifier: BSD-3-Clause
// Backoff: how long to wait before the next attempt. The delay doubles from `first` to `longest`. Each delay is drawn
// at random from its upper half, so that clients that lost the same server do not return at the same moment.
//
// A successful connect does not start the delays anew; only a connection that lasted for `longest` does. Otherwise a
// server that accepts and drops would be tried at the first delay for ever. So in the long run no client connects more
// often than about once in `longest`, whatever the server does.
#pragma once

#include <cstdint>
#include <random>

#include <peal/base/assert.h>
#include <peal/base/clock.h>

namespace peal::detail {

class Backoff {
 public:
  // `first` must be above 0 and at most `longest`. `seed` starts the random generator.
  Backoff(Duration first, Duration longest, uint64_t seed)
      : first_(first), longest_(longest), step_(first), random_(mixed(seed)) {
    PEAL_ASSERT(first > Duration::zero() && first <= longest, "back-off from {} ns to {} ns", first.count(),
                longest.count());
  }

  // Returns the next delay: a random value of at most d and at least d / 2. d is `first` at the first call and after
  // reset(), and doubles with each call, up to `longest`.
  Duration next() {
    std::uniform_int_distribution<Duration::rep> draw(step_.count() / 2, step_.count());
    Duration delay(draw(random_));
    step_ = step_ > longest_ / 2 ? longest_ : step_ * 2;
    return delay;
  }
  void reset() { step_ = first_; }
  void seed(uint64_t seed) { random_.seed(mixed(seed)); }
  // Must be called when an open connection is lost; `open` is how long it was open. If `open` is at least `longest`,
  // acts as reset(): the next delay is at most `first`.
  void lost_after(Duration open) {
    if (open >= longest_) reset();
  }

 private:
  // Spreads the seed with SplitMix64's finisher. Otherwise minstd_rand would draw similar first numbers for similar
  // seeds.
  static uint32_t mixed(uint64_t seed) {
    seed += 0x9e3779b97f4a7c15;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111eb;
    return static_cast<uint32_t>(seed >> 32);
  }

  const Duration first_;
  const Duration longest_;
  Duration step_;
  std::minstd_rand random_;
};

}  // namespace peal::detail
