// SPDX-License-Identifier: BSD-3-Clause
// RouteMeter: the figures of an HttpServer's routes on one loop (route_stats.h). HttpExchange notes each answer here.
//
// Most answers are complete in the turn that read their head. All of these have the same latency, which is known when
// the turn ends. note() therefore only counts them, and the loop adds the number to the histogram of their route
// (TurnTally). The tally has the first route that is answered in the turn; turn_ended() adds the others.
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
#include <optional>
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

  // Both count an answer: note() one that is complete in the turn that read the head, note_late() one whose head was
  // read in a turn that began at `began`. `route` is RouteTree::Route::number, or 0. `digit` is the first digit of the
  // status. They return false, and count nothing, if the answer may be slow or the cycle counter cannot tell.
  bool note(uint32_t route, size_t digit, uint64_t body_bytes) {
    if (is_beyond_limit(*turn_began_)) [[unlikely]]
      return false;
    count(route, digit, body_bytes);
    measure_at_once(route);
    return true;
  }
  bool note_late(uint32_t route, size_t digit, uint64_t body_bytes, TimePoint began) {
    if (is_beyond_limit(began)) [[unlikely]]
      return false;
    count(route, digit, body_bytes);
    measure_late(route, began);
    return true;
  }

  // ---- Functions of the slow path.

  // Counts an answer, or an abandoned request if `digit` is 0, without its latency.
  void count(uint32_t route, size_t digit, uint64_t body_bytes) {
    Counts& counts = counts_[route];
    ++counts.answers[digit];
    counts.body_bytes += body_bytes;
  }

  // Both add the latency of an answer to its route's histogram when the turn ends, for note() and note_late().
  void measure_at_once(uint32_t route) {
    Counts& counts = counts_[route];
    if (&counts != tallied_) {
      if (count_ > 0 || !counts.latency) return measure_beside(route);
      tallied_ = &counts;
      buckets_ = counts.latency.get();
    }
    ++count_;
  }
  void measure_late(uint32_t route, TimePoint began) {
    Counts& counts = counts_[route];
    if (!counts.latency) [[unlikely]]
      make_buckets(counts);
    late_.push_back({counts.latency.get(), began});
    due_ = {};
  }

  // When a request began and ended. `ended` is kNever if it is the end of the turn.
  struct Span {
    TimePoint began;
    TimePoint ended;
  };
  // Returns when a request began and ended that may be one of the slowest. Returns nullopt if it is not. Its head was
  // read in a turn that began at `began`; `at_once`: this is the current turn.
  std::optional<Span> slow_span(TimePoint began, bool at_once);

  // Lists the request when the turn ends, and sets its members `began` and `took`.
  void list_at_end_of_turn(SlowRequest request, Span span);

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
  };
  static_assert(sizeof(Counts) == 64, "its index is a shift");
  struct Late {
    uint64_t* latency;  // buckets of the route
    TimePoint began;
  };
  struct Listed {
    SlowRequest request;
    Span span;
  };

  // Returns the time of the cycle counter, in nanoseconds since an unknown moment.
  int64_t cycle_time() const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<int64_t>((Wide{CycleClock::stamp()} * ns_per_cycle_) >> 64);
  }
  // The sum wraps around if `began` is kNever. The answer then takes the slow path.
  bool is_beyond_limit(TimePoint began) const {
    return cycle_time() > static_cast<int64_t>(static_cast<uint64_t>(began.time_since_epoch().count()) +
                                               static_cast<uint64_t>(limit_));
  }

  // Does what measure_at_once() does, for another route than the tally's.
  void measure_beside(uint32_t route);

  // Adds latencies that the loop has not added, and lists slow requests. Sets due_.
  void turn_ended(size_t bucket, TimePoint now) noexcept override;

  void add_listed(TimePoint now);
  void make_buckets(Counts& counts) const;
  bool may_use_cycles() const;
  void calibrate();
  void set_limit();

  const bool always_slowly_;
  Loop* loop_;                   // null after leave_loop()
  const TimePoint* turn_began_;  // when the turn's wait ended: TurnTimes::woke_at()
  uint64_t ns_per_cycle_ = 0;    // as a fraction of 2^64; 0 while it is not known
  // An answer may be slow if cycle_time() is later by more than this than the begin of the request's turn. It is lower
  // by the difference between the loop's clock and cycle_time() than the least duration of a slow request.
  int64_t limit_ = kNoLimit;
  std::vector<Counts> counts_;  // by the number of the route; [0]: requests that no route took
  Counts* tallied_;             // the route whose answers count_ counts: the first one of the turn
  TimePoint check_due_{};       // when turn_ended() calibrates again
  CycleClock::Moment calibrated_{};
  int64_t offset_ = 0;  // the loop's clock minus cycle_time(), when it was calibrated
  SlowRequests slow_;
  TimePoint slow_mark_{};          // time of the latest answer that slow_span() was asked of
  std::vector<uint64_t> pending_;  // answers of this turn, by the number of the route, without those in count_
  std::vector<uint32_t> others_;   // the routes with pending_
  std::vector<Late> late_;         // answers to requests of earlier turns
  std::vector<Listed> listed_;     // slow requests of this turn
};

}  // namespace peal::detail
