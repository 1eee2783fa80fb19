// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/arrival_plan.h>

#include <algorithm>
#include <cmath>

#include <peal/base/assert.h>

namespace peal::load {
namespace {

constexpr double kHorizonNs = static_cast<double>(kArrivalHorizon.count());

double seconds_of(Duration duration) { return static_cast<double>(duration.count()) * 1e-9; }

double integral_within(const ArrivalPlan::Piece& piece, double seconds) {
  return piece.count + seconds * (piece.rate + piece.slope * seconds / 2);
}

bool is_rate(double rate) { return rate >= 0 && rate <= kFastestArrivals; }

}  // namespace

ArrivalPlan ArrivalPlan::of_pieces(Kind kind, std::vector<Piece> pieces) {
  for (size_t i = 1; i < pieces.size(); ++i) {
    pieces[i].count = integral_within(pieces[i - 1], pieces[i].begin_s - pieces[i - 1].begin_s);
  }
  ArrivalPlan plan(kind);
  plan.pieces_ = std::move(pieces);
  return plan;
}

ArrivalPlan ArrivalPlan::constant(double rate) {
  PEAL_ASSERT(is_rate(rate) && rate > 0, "{} arrivals a second", rate);
  return of_pieces(Kind::kPieces, {{.begin_s = 0, .rate = rate}});
}

ArrivalPlan ArrivalPlan::poisson(double rate) {
  PEAL_ASSERT(is_rate(rate) && rate > 0, "{} arrivals a second", rate);
  return of_pieces(Kind::kPoisson, {{.begin_s = 0, .rate = rate}});
}

ArrivalPlan ArrivalPlan::ramp(double from, double to, Duration over) {
  PEAL_ASSERT(is_rate(from) && is_rate(to) && from + to > 0 && over > Duration::zero(),
              "a ramp from {} to {} in {} ns makes no sense", from, to, over.count());
  const double seconds = seconds_of(over);
  return of_pieces(Kind::kPieces,
                   {{.begin_s = 0, .rate = from, .slope = (to - from) / seconds}, {.begin_s = seconds, .rate = to}});
}

ArrivalPlan ArrivalPlan::steps(const std::vector<double>& rates, Duration every) {
  PEAL_ASSERT(std::ranges::all_of(rates, is_rate) && std::ranges::any_of(rates, [](double rate) { return rate > 0; }) &&
                  every > Duration::zero(),
              "{} steps of {} ns each make no sense", rates.size(), every.count());
  std::vector<Piece> pieces;
  pieces.reserve(rates.size());
  for (const double rate : rates) {
    pieces.push_back({.begin_s = static_cast<double>(pieces.size()) * seconds_of(every), .rate = rate});
  }
  return of_pieces(Kind::kPieces, std::move(pieces));
}

ArrivalPlan ArrivalPlan::bursts(uint64_t count, Duration every) {
  PEAL_ASSERT(count > 0 && every > Duration::zero() && is_rate(static_cast<double>(count) / seconds_of(every)),
              "{} arrivals each {} ns make no sense", count, every.count());
  ArrivalPlan plan(Kind::kBurst);
  plan.burst_ = count;
  plan.every_ = every;
  return plan;
}

ArrivalPlan ArrivalPlan::at(std::vector<Duration> offsets) {
  PEAL_ASSERT(!offsets.empty() && std::ranges::is_sorted(offsets) && offsets.front() >= Duration::zero() &&
                  offsets.back() <= kArrivalHorizon,
              "the {} offsets are empty, out of order or out of range", offsets.size());
  ArrivalPlan plan(Kind::kFile);
  plan.offsets_ = std::make_shared<const std::vector<Duration>>(std::move(offsets));
  return plan;
}

Duration ArrivalPlan::due(uint64_t k, size_t& piece) const {
  switch (kind_) {
    case Kind::kPieces: return due_of_pieces(k, piece);
    case Kind::kBurst: {
      const uint64_t period = k / burst_;
      return period > static_cast<uint64_t>(kArrivalHorizon / every_) ? kNotDue : every_ * static_cast<int64_t>(period);
    }
    case Kind::kFile: return k < offsets_->size() ? (*offsets_)[k] : kNotDue;
    case Kind::kPoisson: break;
  }
  PEAL_ASSERT(kind_ != Kind::kPoisson, "due() cannot know arrival {} of a Poisson plan, which is drawn", k);
  return kNotDue;
}

Duration ArrivalPlan::due_of_pieces(uint64_t k, size_t& piece) const {
  const auto wanted = static_cast<double>(k);
  // Moves `piece` forward to the piece of the plan that contains request number `k`. The member `count` of a piece is
  // the number of requests before the piece. So request `k` is in the last piece whose `count` is at most `k`. A piece
  // in which the rate is always 0 has no requests, so the next piece has the same `count`. Therefore, the loop skips
  // such a piece, unless it is the last piece.
  while (piece + 1 < pieces_.size() && pieces_[piece + 1].count <= wanted) ++piece;
  const Piece& at = pieces_[piece];
  const double more = wanted - at.count;
  double ns = at.begin_s * 1e9;
  if (at.slope == 0) {
    if (at.rate == 0) return kNotDue;
    ns += more * 1e9 / at.rate;
  } else if (more > 0) {
    const double root = std::sqrt(std::max(at.rate * at.rate + 2 * at.slope * more, 0.0));
    // Limits `ns`, the time of request `k`, to the end of this piece of the plan. Without the limit, a rounding error
    // could move `ns` beyond the end. Request `k` could then come later than request `k` + 1, if that is the first
    // request of the next piece. But the times must be in ascending order.
    ns = std::min(ns + 2e9 * more / (at.rate + root), pieces_[piece + 1].begin_s * 1e9);
  }
  return ns > kHorizonNs ? kNotDue : Duration(std::llround(ns));
}

double ArrivalPlan::integral(Duration offset) const {
  const double seconds = seconds_of(offset);
  auto after = std::ranges::upper_bound(pieces_, seconds, {}, &Piece::begin_s);
  const Piece& piece = *std::prev(after);
  return integral_within(piece, seconds - piece.begin_s);
}

uint64_t ArrivalPlan::count_by(Duration offset) const {
  if (offset < Duration::zero()) return 0;
  offset = std::min(offset, kArrivalHorizon);
  switch (kind_) {
    case Kind::kPieces: {
      // Estimates `count`, the number of requests that are due until `offset`. integral() has rounding errors, so the
      // estimate may be slightly wrong. The two loops correct it. After the loops, due() is at most `offset` for
      // exactly the first `count` requests.
      auto count = static_cast<uint64_t>(std::max(integral(offset), 0.0)) + 1;
      while (count > 0 && due(count - 1) > offset) --count;
      while (due(count) <= offset) ++count;
      return count;
    }
    case Kind::kBurst: return burst_ * static_cast<uint64_t>(offset / every_ + 1);
    case Kind::kFile: return static_cast<uint64_t>(std::ranges::upper_bound(*offsets_, offset) - offsets_->begin());
    case Kind::kPoisson: break;
  }
  PEAL_ASSERT(kind_ != Kind::kPoisson, "count_by() cannot know what a Poisson plan draws until {} ns", offset.count());
  return 0;
}

double ArrivalPlan::expected_count(Duration from, Duration to) const {
  from = std::max(from, Duration::zero());
  if (to <= from) return 0;
  if (kind_ == Kind::kPoisson) return poisson_rate() * seconds_of(to - from);
  return static_cast<double>(count_by(to - Duration(1)) - count_by(from - Duration(1)));
}

}  // namespace peal::load
