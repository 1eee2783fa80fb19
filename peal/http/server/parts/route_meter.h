// SPDX-License-Identifier: BSD-3-Clause
// RouteMeter: the figures of an HttpServer's routes on one loop (route_stats.h). HttpExchange notes each answer here.
//
// Most answers are complete in the turn that read their head. All of these have the same latency, which is known when
// the turn ends. note() therefore only counts them, and the loop adds the number to the histogram of their route
// (TurnTally). The tally has one route at a time. If a turn answers requests of several routes, turn_ended() adds the
// others.
//
// To find slow requests, note() compares the time since the begin of the turn with a limit. It takes that time from the
// processor's cycle counter, without reading the clock. Whatever is not usual takes the slow path: note() returns
// false, and HttpShard::note_answer() goes on.
//
// The shard and the loop share the meter, because either may be destroyed first. Only the loop's thread uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/cycle_clock.h>
#include <peal/http/server/http_stats.h>
#include <peal/http/server/parts/route_tree.h>
#include <peal/http/server/parts/slow_requests.h>
#include <peal/http/server/route_stats.h>
#include <peal/loop/loop.h>

namespace peal::detail {

class RouteMeter final : public TurnTally {
 public:
  // `route_count`: the size of RouteTree::names(). `always_slowly`: note() always returns false, because the access log
  // must see each answer.
  RouteMeter(Loop& loop, size_t route_count, bool always_slowly);

  // Makes a meter that measures nothing: note() always returns false.
  RouteMeter();

  // Counts an answer that is complete in the turn that read the head. `route` is RouteTree::Route::number, or 0.
  // `digit` is the first digit of the status. Returns false, and counts nothing, if the answer may be slow or the cycle
  // counter cannot tell.
  bool note(uint32_t route, size_t digit, uint64_t body_bytes) {
    if (is_beyond_limit()) [[unlikely]]
      return false;
    count(route, digit, body_bytes);
    wait_for_turn(counts_[route]);
    return true;
  }

  // ---- Functions of the slow path.

  // Counts an answer, or an abandoned request if `digit` is 0, without its latency.
  void count(uint32_t route, size_t digit, uint64_t body_bytes) {
    Counts& counts = counts_[route];
    ++counts.answers[digit];
    counts.body_bytes += body_bytes;
  }

  // Both add the latency of an answer to its route's histogram when the turn ends. measure_late() is for requests that
  // were read in an earlier turn, which began at `began`.
  void measure_at_once(uint32_t route) { wait_for_turn(counts_[route]); }
  void measure_late(uint32_t route, TimePoint began);

  // True if a request may be one of the slowest that was read in a turn that began at `began`. `at_once`: this is the
  // current turn.
  bool may_be_slow(TimePoint began, bool at_once);

  // Lists the request when the turn ends, and sets its members `began` and `took`.
  void list_at_end_of_turn(SlowRequest request, TimePoint began);

  // Adds the counters of answers of all routes to `stats`.
  void add_to(HttpStats& stats) const;

  // Forgets slow requests that are too old.
  void age(TimePoint now) { slow_.age(now); }

  RouteFigures figures(const RouteTree& routes) const;

  // The meter does not touch the loop after this call. note() then always returns false.
  void leave_loop();

 private:
  static constexpr size_t kMostWarm = 1024;  // capacity that a list keeps after a turn
  static constexpr Duration kFirstCalibration = std::chrono::milliseconds(10);
  static constexpr Duration kCalibration = std::chrono::seconds(1);
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::min();  // note() always returns false

  struct Counts {
    std::unique_ptr<uint64_t[]> latency;  // one count for each bucket; null before the first request
    uint64_t answers[6] = {};             // by the first digit of the status; [0]: abandoned requests
    uint64_t body_bytes = 0;
    uint64_t pending = 0;  // answers of this turn that are not in count_
  };
  struct Late {
    uint32_t route;
    TimePoint began;
  };
  struct Listed {
    SlowRequest request;
    TimePoint began;
  };

  // Returns the time of the cycle counter, in nanoseconds since an unknown moment.
  int64_t cycle_time() const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<int64_t>((Wide{CycleClock::stamp()} * ns_per_cycle_) >> 64);
  }
  bool is_beyond_limit() const { return cycle_time() - turn_began_->time_since_epoch().count() > limit_; }

  void wait_for_turn(Counts& counts) {
    if (&counts != pending_) [[unlikely]]
      change_pending(counts);
    ++count_;
  }
  void change_pending(Counts& counts);

  // Adds latencies that the loop has not added, and lists slow requests. Sets due_.
  void turn_ended(size_t bucket, TimePoint now) noexcept override;

  void make_buckets(Counts& counts) const;
  bool may_use_cycles() const;
  void calibrate();
  void set_limit();

  const bool always_slowly_;
  Loop* loop_;                   // null after leave_loop()
  const TimePoint* turn_began_;  // when the turn's wait ended: TurnTimes::woke_at()
  uint64_t ns_per_cycle_ = 0;    // as a fraction of 2^64; 0 while it is not known
  // note() returns false if cycle_time() is later by more than this than the begin of the turn. It is lower by the
  // difference between the loop's clock and cycle_time() than the least duration of a slow request.
  int64_t limit_ = kNoLimit;
  std::vector<Counts> counts_;  // by the number of the route; [0]: requests that no route took
  Counts* pending_;             // route of the latest answer: buckets_ and count_ are its
  CycleClock::Moment calibrated_{};
  int64_t offset_ = 0;  // the loop's clock minus cycle_time(), when it was calibrated
  SlowRequests slow_;
  TimePoint slow_mark_{};        // time of the latest slow answer that was complete in its turn
  std::vector<Counts*> others_;  // routes with Counts::pending
  std::vector<Late> late_;       // answers to requests of earlier turns
  std::vector<Listed> listed_;   // slow requests of this turn
};

}  // namespace peal::detail
