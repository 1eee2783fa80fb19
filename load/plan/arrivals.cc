// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/arrivals.h>

#include <algorithm>
#include <cmath>

#include <peal/base/assert.h>

namespace peal::load {
namespace {

constexpr unsigned kFractionBits = 12;  // times are counted in units of 2^-12 ns
constexpr double kFractions = 1 << kFractionBits;
constexpr uint64_t kHorizonFractions = static_cast<uint64_t>(kArrivalHorizon.count()) << kFractionBits;
constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;

// Mixes the bits of `word`. This is the last step of the random number generator splitmix64. Two different words never
// give the same result. Similar words give very different results.
uint64_t scrambled(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

}  // namespace

ArrivalCursor::ArrivalCursor(const ArrivalPlan& plan, TimePoint start, uint64_t seed, uint64_t thread, uint64_t threads)
    : plan_(plan), start_(start), thread_(thread), threads_(threads) {
  PEAL_ASSERT(thread < threads, "thread {} does not exist among {} threads", thread, threads);
  if (plan.kind() == ArrivalPlan::Kind::kPoisson) {
    draw_.random = scrambled(scrambled(seed + kGoldenGamma) + thread);
    draw_.mean_gap = static_cast<double>(threads) * 1e9 / plan.poisson_rate() * kFractions;
  }
  move();
}

// Returns the time of the next request, counted from the start of the plan. This time is the time of the last request
// plus a random gap. If the time would be 13 days (kArrivalHorizon) or more, returns kNotDue, because a plan has no
// requests after 13 days. From then on, every call returns kNotDue.
Duration ArrivalCursor::Draw::next() {
  random += kGoldenGamma;
  // `uniform` is a random number between 0 and 1. It is never exactly 0, because the logarithm of 0 would be infinite.
  const double uniform = (static_cast<double>(scrambled(random) >> 11) + 0.5) * 0x1p-53;
  const double gap = -std::log(uniform) * mean_gap;
  if (gap >= static_cast<double>(kHorizonFractions - at)) {
    at = kHorizonFractions;
    return kNotDue;
  }
  at += static_cast<uint64_t>(std::llround(gap));
  return Duration(static_cast<int64_t>(at >> kFractionBits));
}

void ArrivalCursor::move() {
  const Duration offset =
      plan_.kind() == ArrivalPlan::Kind::kPoisson ? draw_.next() : plan_.due(taken_ * threads_ + thread_, piece_);
  due_ = offset == kNotDue ? kNever : start_ + offset;
}

void ArrivalCursor::advance() {
  if (due_ == kNever) return;
  ++taken_;
  move();
}

uint64_t ArrivalCursor::pass_before(TimePoint limit) {
  uint64_t passed = 0;
  if (plan_.kind() == ArrivalPlan::Kind::kPoisson) {
    for (; due_ != kNever && due_ < limit; ++passed) advance();
    return passed;
  }
  passed = due_by(limit - Duration(1));
  if (passed == 0) return 0;
  taken_ += passed;
  move();
  return passed;
}

uint64_t ArrivalCursor::due_by(TimePoint now) const {
  if (due_ > now || due_ == kNever) return 0;
  // Limits `offset` to 13 days (kArrivalHorizon). The send schedule has no request after that time, so the limit does
  // not change the result. The loop at the end of this function needs the limit. After the last request, ahead.next()
  // always returns kNotDue, the highest possible Duration. If `now` is very late, `offset` could be as high without the
  // limit, and the loop would never stop.
  const Duration offset = std::min(now - start_, kArrivalHorizon);
  if (plan_.kind() != ArrivalPlan::Kind::kPoisson) {
    const uint64_t all = plan_.count_by(offset);
    const uint64_t mine = all > thread_ ? (all - thread_ - 1) / threads_ + 1 : 0;
    PEAL_ASSERT(mine > taken_, "only {} arrivals are due, but {} were taken", mine, taken_);
    return mine - taken_;
  }
  uint64_t count = 1;
  for (Draw ahead = draw_; ahead.next() <= offset; ++count) {
  }
  return count;
}

}  // namespace peal::load
