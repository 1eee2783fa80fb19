// SPDX-License-Identifier: BSD-3-Clause
// ArrivalPlan: the send schedule of an open loop. It says how long after the start each request has to be sent; at that
// time the request is due. Each such time is called an arrival. parse_arrivals() makes a plan from text. A plan is a
// plain value. Copies are cheap, because they share the list of times that was read from a file.
//
// A Poisson plan draws its arrivals at random. All other plans can compute the time of arrival number k. The rate of a
// constant, ramp or step plan is a sequence of straight pieces. In these plans, arrival k is due when N(t), the
// integral of the rate, reaches k:
//
//   rate |      ____ 3.        N(t) = count + rate t + slope t^2 / 2   within a piece, t from its start
//        | 1.  / 2.            N(t) = k   solved: t = 2 (k - count) / (rate + sqrt(rate^2 + 2 slope (k - count)))
//        |____/
//        +-----------> t       (this form of the root loses no digits, and is k / rate if the slope is 0)
//
// A plan has no arrivals later than kArrivalHorizon (13 days) after its start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <peal/base/clock.h>

namespace peal::load {

inline constexpr Duration kArrivalHorizon{int64_t{1} << 50};  // 13 days
inline constexpr Duration kNotDue = Duration::max();
inline constexpr double kFastestArrivals = 1e9;  // arrivals per second

class ArrivalPlan {
 public:
  enum class Kind : uint8_t { kPieces, kBurst, kFile, kPoisson };
  // A part of the plan in which the rate is constant or changes linearly with time. The piece begins `begin_s` seconds
  // after the start of the plan. It ends where the next piece begins. The last piece has no end. The rate may be 0.
  struct Piece {
    double begin_s;
    double rate;       // arrivals per second, at the start of the piece
    double slope = 0;  // change of the rate per second
    double count = 0;  // arrivals before the piece, which need not be a whole number; the plan computes it
  };

  // Makes a plan that sends requests with equal time gaps. `rate` is the number of requests per second that all threads
  // together send. `rate` must be more than 0 and at most 1e9 (kFastestArrivals).
  static ArrivalPlan constant(double rate);
  // Makes a plan that sends requests with random time gaps (a Poisson process). `rate` is the mean number of requests
  // per second that all threads together send. `rate` must be more than 0 and at most 1e9 (kFastestArrivals).
  static ArrivalPlan poisson(double rate);
  // Makes a plan in which the rate rises or falls linearly. The rate is `from` at the start, and `to` after the time
  // `over`. From then on, the rate stays `to`. Both rates are in requests per second of all threads together. One of
  // the two rates may be 0.
  static ArrivalPlan ramp(double from, double to, Duration over);
  // Makes a plan from a list of rates, which are used one after the other. Each rate except the last is used for the
  // time `every`. The last rate is used without end. At least one rate must be more than 0.
  static ArrivalPlan steps(const std::vector<double>& rates, Duration every);
  // Makes a plan that sends requests in bursts. In a burst, `count` requests are sent at the same moment. The first
  // burst is at the start. The time from one burst to the next is `every`. The mean rate is `count` / `every`; it must
  // be at most 1e9 requests per second (kFastestArrivals).
  static ArrivalPlan bursts(uint64_t count, Duration every);
  // Makes a plan that sends one request for each time in the list `offsets`. The times count from the start of the
  // plan. The list must be sorted in ascending order and must not be empty. Each time must be from 0 to 13 days
  // (kArrivalHorizon).
  static ArrivalPlan at(std::vector<Duration> offsets);

  Kind kind() const { return kind_; }
  // Returns the mean rate, in requests per second. May be called only for a Poisson plan.
  double poisson_rate() const { return pieces_.front().rate; }

  // Returns the time at which request number `k` has to be sent, counted from the start of the plan. The first request
  // has the number 0. Returns kNotDue if the plan has no request number `k`. Asserts that the plan is not a Poisson
  // plan, whose times are random.
  //
  // `piece` makes the search for request `k` fast if due() is called repeatedly with ascending `k`. `piece` is an index
  // in the list of the plan's pieces (struct Piece). due() begins its search at this piece, and changes `piece` to the
  // index of the piece that contains request `k`. So the next call begins its search at that piece. Set `piece` to 0
  // before the first call, and before each call whose `k` is lower than the `k` of the previous call.
  Duration due(uint64_t k, size_t& piece) const;
  Duration due(uint64_t k) const {
    size_t piece = 0;
    return due(k, piece);
  }
  // Returns how many requests are due by the time `offset`, which counts from the start of the plan. A request that is
  // due exactly at `offset` is included. The result is equal to the number of requests for which due() returns at most
  // `offset`. Asserts that the plan is not a Poisson plan, whose times are random.
  uint64_t count_by(Duration offset) const;

  // Returns how many requests all threads together have to send from the time `from` to the time `to`. Both times count
  // from the start of the plan. A request at `from` is included; a request at `to` is not. The times of a Poisson plan
  // are random, so the result is the mean number of requests. The times of all other plans are fixed, so the result is
  // exact.
  double expected_count(Duration from, Duration to) const;

 private:
  explicit ArrivalPlan(Kind kind) : kind_(kind) {}
  static ArrivalPlan of_pieces(Kind kind, std::vector<Piece> pieces);
  Duration due_of_pieces(uint64_t k, size_t& piece) const;
  double integral(Duration offset) const;

  Kind kind_;
  std::vector<Piece> pieces_;  // only for kPieces and kPoisson; the first piece begins at 0
  uint64_t burst_ = 0;
  Duration every_{};
  std::shared_ptr<const std::vector<Duration>> offsets_;
};

}  // namespace peal::load
