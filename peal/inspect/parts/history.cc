// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/history.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include <peal/inspect/parts/program_metrics.h>
#include <peal/inspect/parts/snapshot_json.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// Turns the change of a counter into a rate. Returns 0 if the counter fell: then it counts something new.
class Rate {
 public:
  explicit Rate(Duration passed) : seconds_(std::max(in_seconds(passed), 1e-3)) {}
  double operator()(uint64_t now, uint64_t then) const {
    return now < then ? 0 : static_cast<double>(now - then) / seconds_;
  }
  // The part of the time that passed.
  double share(Duration now, Duration then) const { return std::max(0.0, in_seconds(now - then)) / seconds_; }

 private:
  double seconds_;
};

// Returns the values that were recorded in `now` after `then`. Returns an empty histogram if `then` has more counts:
// then it is not an earlier state of `now`.
Histogram recorded_since(const Histogram& now, const Histogram& then) {
  Histogram since(now.options());
  if (now.options() != then.options() || now.total_count() < then.total_count()) return since;
  for (size_t i = 0; i < now.counts().size(); ++i) {
    if (now.counts()[i] > then.counts()[i]) since.add_at(i, now.counts()[i] - then.counts()[i]);
  }
  return since;
}

// Returns the value with as few digits as tell it from other floats: 0.1, where its conversion to double would have 17.
Json shortened(float value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  double same = 0;
  std::from_chars(text.data(), end, same);
  return same;
}

// Returns what is tracked of the thing with this number. Returns null if it has not been seen before.
auto* tracked(auto& all, size_t number) {
  const auto found = std::ranges::find(all, number, [](const auto& each) { return each.last.number; });
  return found == all.end() ? nullptr : &*found;
}

// Loops and servers that are shown no more are not shown in the graphs either.
void forget_the_gone(auto& all, const auto& shown) {
  std::erase_if(all, [&](const auto& each) {
    return std::ranges::none_of(shown, [&](const auto& one) { return one.number == each.last.number; });
  });
}

}  // namespace

void History::Track::set(std::string_view name, uint64_t number, double value) {
  auto figure = std::ranges::find(figures_, name, [](const auto& each) { return each.first; });
  if (figure == figures_.end()) {
    figure = figures_.emplace(figure, name, std::make_unique<Values>());
    figure->second->fill(kUnknown);
  }
  figure->second->at(number % kSamples) = static_cast<float>(value);
}

void History::Track::begin(uint64_t number) {
  for (const auto& [name, values] : figures_) values->at(number % kSamples) = kUnknown;
}

void History::Track::write(nlohmann::ordered_json& json, uint64_t first, uint64_t last) const {
  for (const auto& [name, values] : figures_) {
    Json array = Json::array();
    for (uint64_t number = first; number <= last; ++number) {
      const float value = values->at(number % kSamples);
      array.push_back(std::isnan(value) ? Json() : shortened(value));
    }
    json[std::string(name)] = std::move(array);
  }
}

void History::add(const Snapshot& snapshot) {
  // Two requests for a sample may share a snapshot, if the loops were slow to answer the first.
  if (process_ && snapshot.now <= process_->first) return;
  const bool first = !process_;
  if (!first) {
    ++newest_;
    times_.at(newest_ % kSamples) = unix_seconds(snapshot.taken);
    process_track_.begin(newest_);
    for (auto& each : loops_) each.track.begin(newest_);
    for (TrackedServer& each : servers_) {
      each.track.begin(newest_);
      for (auto& call : each.calls) call.track.begin(newest_);
    }
    for (auto& [name, each] : metrics_) each.track.begin(newest_);
  }
  add_process(snapshot);
  for (const LoopSnapshot& loop : snapshot.loops) add_loop(loop, snapshot.now);
  for (const ServerSnapshot& server : snapshot.servers) add_server(server, snapshot.now);
  add_metrics(snapshot);
  forget_the_gone(loops_, snapshot.loops);
  forget_the_gone(servers_, snapshot.servers);
}

void History::add_process(const Snapshot& snapshot) {
  if (process_) {
    const Rate rate(snapshot.now - process_->first);
    process_track_.set("cpu_share", newest_, rate.share(snapshot.process_cpu, process_->second));
    process_track_.set("resident_bytes", newest_, static_cast<double>(snapshot.process.resident_bytes));
    process_track_.set("held_bytes", newest_, static_cast<double>(snapshot.held_bytes));
  }
  process_ = {snapshot.now, snapshot.process_cpu};
}

void History::add_loop(const LoopSnapshot& loop, TimePoint now) {
  if (!loop.answered) return;
  Tracked<LoopSnapshot>* const known = tracked(loops_, loop.number);
  if (known == nullptr) {
    loops_.push_back({.last = loop, .at = now, .track = {}});
    return;
  }
  const LoopSnapshot& last = known->last;
  Track& track = known->track;
  const Rate rate(now - known->at);
  if (loop.times && last.times) {
    const Histogram turns = recorded_since(loop.times->turns(), last.times->turns());
    track.set("busy_share", newest_, std::min(1.0, rate.share(loop.times->busy(), last.times->busy())));
    track.set("turn_p50_seconds", newest_, seconds_at(turns, 50));
    track.set("turn_p99_seconds", newest_, seconds_at(turns, 99));
    track.set("turn_max_seconds", newest_, seconds_at(turns, 100));
  }
  const EngineStats& engine = loop.engine_stats;
  track.set("cpu_share", newest_, rate.share(loop.cpu, last.cpu));
  track.set("events_per_second", newest_, rate(engine.events, last.engine_stats.events));
  track.set("received_bytes_per_second", newest_, rate(engine.received_bytes, last.engine_stats.received_bytes));
  track.set("sent_bytes_per_second", newest_, rate(engine.sent_bytes, last.engine_stats.sent_bytes));
  known->last = loop;
  known->at = now;
}

void History::add_server(const ServerSnapshot& server, TimePoint now) {
  const std::vector<CallView> calls = calls_of(server);
  SeenServer seen{
      .number = server.number, .name = server.name, .stats = server.stats, .http = server.http, .sum = sum_of(calls)};
  TrackedServer* const known = tracked(servers_, server.number);
  if (known == nullptr) {
    TrackedServer& added = servers_.emplace_back();
    added.last = std::move(seen);
    added.at = now;
    for (const CallView& each : calls) {
      if (added.calls.size() >= kMostCalls) break;
      added.calls.push_back({.last = {each.name, each.counts, each.latency}, .at = now, .track = {}});
    }
    return;
  }
  const SeenServer& last = known->last;
  Track& track = known->track;
  const Duration passed = now - known->at;
  const Rate rate(passed);
  track.set("connections", newest_, static_cast<double>(server.connections));
  track.set("opened_per_second", newest_, rate(server.stats.opened, last.stats.opened));
  track.set("refused_per_second", newest_,
            rate(server.stats.refused + server.stats.evicted, last.stats.refused + last.stats.evicted));
  if (server.http && last.http) {
    track.set("requests_per_second", newest_, rate(server.http->requests, last.http->requests));
    track.set("client_errors_per_second", newest_, rate(server.http->answers.at(4), last.http->answers.at(4)));
    track.set("server_errors_per_second", newest_, rate(server.http->answers.at(5), last.http->answers.at(5)));
    set_latency(track, seen.sum.latency, last.sum.latency);
  } else if (!calls.empty()) {
    set_calls(track, seen.sum.counts, last.sum.counts, passed);
    set_latency(track, seen.sum.latency, last.sum.latency);
  }
  add_calls(*known, calls, known->at, now);
  known->last = std::move(seen);
  known->at = now;
}

void History::add_calls(TrackedServer& known, const std::vector<CallView>& calls, TimePoint before, TimePoint now) {
  for (const CallView& each : calls) {
    auto found = std::ranges::find(known.calls, each.name, [](const auto& call) { return call.last.name; });
    if (found == known.calls.end()) {
      if (known.calls.size() >= kMostCalls) continue;
      // A route is listed from its first request on: there were none before.
      found = known.calls.insert(found, {.last = CallStats(), .at = before, .track = {}});
    }
    CallStats& last = found->last;
    set_calls(found->track, each.counts, last.counts, now - found->at);
    set_latency(found->track, each.latency, last.latency);
    // The latency takes long to copy, and has not changed if there was no call.
    if (each.latency.total_count() != last.latency.total_count()) last.latency = each.latency;
    last.name = each.name;
    last.counts = each.counts;
    found->at = now;
  }
}

void History::set_calls(Track& track, const CallCounts& now, const CallCounts& then, Duration passed) const {
  const Rate rate(passed);
  track.set("requests_per_second", newest_, rate(now.calls, then.calls));
  if (now.client_errors) {
    track.set("client_errors_per_second", newest_, rate(*now.client_errors, then.client_errors.value_or(0)));
  }
  track.set("server_errors_per_second", newest_, rate(now.server_errors, then.server_errors));
}

void History::set_latency(Track& track, const Histogram& now, const Histogram& then) const {
  if (now.total_count() == then.total_count()) return;
  const Histogram latency = recorded_since(now, then);
  if (latency.empty()) return;
  track.set("latency_p50_seconds", newest_, seconds_at(latency, 50));
  track.set("latency_p99_seconds", newest_, seconds_at(latency, 99));
}

nlohmann::ordered_json History::calls_since(const CallsName& wanted, uint64_t first) const {
  Json rows = Json::array();
  for (const TrackedServer& server : servers_) {
    if (server.last.number != wanted.server) continue;
    for (const auto& each : server.calls) {
      if (each.last.name != wanted.name) continue;
      rows.push_back({{"server", wanted.server}, {"name", wanted.name}});
      each.track.write(rows.back(), first, newest_);
    }
  }
  return rows;
}

// Adds the metrics of the program, and forgets those that the snapshot does not have.
void History::add_metrics(const Snapshot& snapshot) {
  for (auto& [name, each] : metrics_) each.shown = false;
  metrics_without_track_ = 0;
  for (const MetricReading& metric : snapshot.metrics.metrics) {
    MetricName name{metric.name, metric.labels};
    if (const auto found = metrics_.find(name); found != metrics_.end()) {
      add_metric(found->second, metric, snapshot.now);
    } else if (metrics_.size() < kMostMetricTracks) {
      metrics_.emplace(std::move(name), TrackedMetric{{.last = metric, .at = snapshot.now, .track = {}}});
    } else {
      ++metrics_without_track_;
    }
  }
  std::erase_if(metrics_, [](const auto& each) { return !each.second.shown; });
}

void History::add_metric(TrackedMetric& kept, const MetricReading& metric, TimePoint now) const {
  // A metric of another kind with this name is a new one.
  if (metric.kind != kept.last.kind) kept = {{.last = metric, .at = now, .track = {}}};
  const Rate rate(now - kept.at);
  Track& track = kept.track;
  if (metric.histogram && kept.last.histogram) {
    const Histogram recorded = recorded_since(*metric.histogram, *kept.last.histogram);
    track.set("per_second", newest_, rate(metric.histogram->total_count(), kept.last.histogram->total_count()));
    if (!recorded.empty()) {
      track.set("p50", newest_, metric_at(metric, recorded, 50));
      track.set("p99", newest_, metric_at(metric, recorded, 99));
    }
  } else if (metric.kind == MetricKind::kCounter) {
    track.set("per_second", newest_, rate(metric.count, kept.last.count));
  } else {
    track.set("value", newest_, metric.value);
  }
  kept.last = metric;
  kept.at = now;
  kept.shown = true;
}

nlohmann::ordered_json History::since(uint64_t seen, const std::optional<CallsName>& calls) const {
  const uint64_t oldest = newest_ > kSamples ? newest_ - kSamples + 1 : 1;
  const uint64_t first = seen > newest_ ? oldest : std::max(seen + 1, oldest);
  Json times = Json::array();
  for (uint64_t number = first; number <= newest_; ++number) times.push_back(times_.at(number % kSamples));
  Json process = Json::object();
  process_track_.write(process, first, newest_);
  Json loops = Json::array();
  for (const auto& each : loops_) {
    loops.push_back({{"loop", each.last.number}, {"thread", each.last.thread}});
    each.track.write(loops.back(), first, newest_);
  }
  Json servers = Json::array();
  for (const TrackedServer& each : servers_) {
    servers.push_back({{"server", each.last.number}, {"name", each.last.name}});
    each.track.write(servers.back(), first, newest_);
  }
  Json metrics = Json::array();
  for (const auto& [name, each] : metrics_) {
    Json labels = Json::object();
    for (const auto& [label, value] : each.last.labels) labels[label] = value;
    metrics.push_back({{"name", each.last.name},
                       {"labels", std::move(labels)},
                       {"kind", to_string(each.last.kind)},
                       {"unit", each.last.unit}});
    each.track.write(metrics.back(), first, newest_);
  }
  Json history{{"period_seconds", in_seconds(kPeriod)},
               {"newest", newest_},
               {"taken_unix_seconds", std::move(times)},
               {"process", std::move(process)},
               {"loops", std::move(loops)},
               {"servers", std::move(servers)},
               {"metrics", std::move(metrics)},
               {"metrics_without_history", metrics_without_track_}};
  if (calls) history["calls"] = calls_since(*calls, first);
  return history;
}

}  // namespace peal::detail
