// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/route_meter.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace peal::detail {

namespace {

// Where a meter that has left its loop finds the begin of a turn.
constexpr TimePoint kNoTurn{};

}  // namespace

RouteMeter::RouteMeter()
    : always_slowly_(true), loop_(nullptr), turn_began_(&kNoTurn), tallied_(nullptr), slow_(TimePoint()) {}

RouteMeter::RouteMeter(Loop& loop, size_t route_count, bool always_slowly)
    : always_slowly_(always_slowly),
      loop_(&loop),
      turn_began_(&kNoTurn),
      counts_(route_count + 1),
      tallied_(counts_.data()),
      calibrated_(CycleClock::now()),
      slow_(loop.engine().now()),
      pending_(route_count + 1) {
  loop.measure_turns();
  turn_began_ = &loop.turn_times()->woke_at();
  make_buckets(counts_.front());
  buckets_ = counts_.front().latency.get();
}

void RouteMeter::leave_loop() {
  loop_ = nullptr;
  turn_began_ = &kNoTurn;
  limit_ = kNoLimit;
}

void RouteMeter::make_buckets(Counts& counts) const {
  counts.latency = std::make_unique<uint64_t[]>(loop_->turn_times()->turns().counts().size());
}

void RouteMeter::measure_beside(uint32_t route) {
  if (pending_[route]++ > 0) return;
  if (!counts_[route].latency) make_buckets(counts_[route]);
  others_.push_back(route);
  due_ = {};
}

// In a turn that took long, the answers after the slow one are late too, but they are not the reason. So a request that
// is answered at once begins when the one before it was answered. Only once in a turn, that answer was not noticed: it
// was not beyond the limit. Then the request begins with the turn.
std::optional<RouteMeter::Span> RouteMeter::slow_span(TimePoint began, bool at_once) {
  const TimePoint now = loop_->engine().now();
  Span span{.began = began, .ended = kNever};
  if (at_once) span = {.began = std::max(began, std::exchange(slow_mark_, now)), .ended = now};
  return now - span.began >= slow_.least() ? std::optional(span) : std::nullopt;
}

void RouteMeter::list_at_end_of_turn(SlowRequest request, Span span) {
  listed_.push_back({std::move(request), span});
  due_ = {};
}

void RouteMeter::turn_ended(size_t bucket, TimePoint now) noexcept {
  for (const uint32_t route : others_) counts_[route].latency[bucket] += std::exchange(pending_[route], 0);
  others_.clear();
  const Histogram& layout = loop_->turn_times()->turns();
  for (const Late& late : late_) {
    ++late.latency[layout.index_of(std::clamp((now - late.began).count(), int64_t{0}, TurnTimes::kOptions.highest))];
  }
  late_.clear();
  if (late_.capacity() > kMostWarm) std::vector<Late>().swap(late_);
  if (!listed_.empty()) add_listed(now);
  if (now >= check_due_) {
    slow_.age(now);
    calibrate();
    set_limit();
    check_due_ = later(now, limit_ == kNoLimit && may_use_cycles() ? kFirstCalibration : kCalibration);
  }
  due_ = check_due_;
}

void RouteMeter::add_listed(TimePoint now) {
  slow_.age(now);
  const auto wall = std::chrono::system_clock::now();
  for (Listed& listed : listed_) {
    const Span& span = listed.span;
    listed.request.took = (span.ended == kNever ? now : span.ended) - span.began;
    listed.request.began = wall - std::chrono::duration_cast<std::chrono::system_clock::duration>(now - span.began);
    slow_.add(std::move(listed.request));
  }
  listed_.clear();
  set_limit();
}

bool RouteMeter::may_use_cycles() const {
  return !always_slowly_ && loop_->engine().keeps_real_time() && CycleClock::usable();
}

// Compares the cycle counter with the clock again after a second, because the kernel may change the speed of its clock.
void RouteMeter::calibrate() {
  __extension__ using Wide = unsigned __int128;
  if (!may_use_cycles()) return;
  const CycleClock::Moment now = CycleClock::now();
  const Duration passed = now.time - calibrated_.time;
  if (passed < (ns_per_cycle_ == 0 ? kFirstCalibration : kCalibration) || now.stamp <= calibrated_.stamp) return;
  const Wide ratio = (Wide{static_cast<uint64_t>(passed.count())} << 64) / (now.stamp - calibrated_.stamp);
  calibrated_ = now;
  if (ratio > UINT64_MAX) return;  // a counter of less than 1 GHz
  ns_per_cycle_ = static_cast<uint64_t>(ratio);
  offset_ = now.time.time_since_epoch().count() - static_cast<int64_t>((Wide{now.stamp} * ns_per_cycle_) >> 64);
}

void RouteMeter::set_limit() {
  if (ns_per_cycle_ == 0) return;
  limit_ = slow_.least().count() - 1 - offset_;
}

void RouteMeter::add_to(HttpStats& stats) const {
  for (const Counts& counts : counts_) {
    for (size_t i = 1; i < stats.answers.size(); ++i) stats.answers[i] += counts.answers[i];
    stats.response_body_bytes += counts.body_bytes;
  }
}

RouteFigures RouteMeter::figures(const RouteTree& routes) const {
  RouteFigures figures{.routes = {}, .slowest = slow_.all()};
  const auto add = [&](const Counts& counts, const RouteTree::Name& name) {
    RouteStats stats;
    stats.requests = std::accumulate(std::begin(counts.answers), std::end(counts.answers), uint64_t{0});
    if (stats.requests == 0) return;
    stats.method = name.method;
    stats.pattern = name.pattern;
    std::copy(std::begin(counts.answers) + 1, std::end(counts.answers), stats.answers.begin() + 1);
    stats.abandoned = counts.answers[0];
    stats.response_body_bytes = counts.body_bytes;
    for (size_t i = 0; counts.latency && i < stats.latency.counts().size(); ++i) {
      if (counts.latency[i] > 0) stats.latency.add_at(i, counts.latency[i]);
    }
    figures.routes.push_back(std::move(stats));
  };
  for (size_t i = 1; i < counts_.size(); ++i) add(counts_[i], routes.names()[i - 1]);
  if (!counts_.empty()) add(counts_.front(), {});
  return figures;
}

}  // namespace peal::detail
