// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/history.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

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

// Returns the calls of all methods together. The result has no latency if the methods' latencies have different
// options.
MethodStats together(const std::vector<MethodStats>& methods) {
  MethodStats sum;
  for (const MethodStats& each : methods) {
    if (each.latency.options() == sum.latency.options()) sum.add(each);
  }
  return sum;
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
    times_.at(newest_ % kSamples) = std::chrono::duration<double>(snapshot.taken.time_since_epoch()).count();
    process_track_.begin(newest_);
    for (LoopTrack& each : loops_) each.track.begin(newest_);
    for (ServerTrack& each : servers_) each.track.begin(newest_);
  }
  add_process(snapshot);
  for (const LoopSnapshot& loop : snapshot.loops) add_loop(loop, snapshot.now);
  for (const ServerSnapshot& server : snapshot.servers) add_server(server, snapshot.now);
  forget_the_gone(snapshot);
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
  auto found = std::ranges::find(loops_, loop.number, [](const LoopTrack& each) { return each.last.number; });
  if (found == loops_.end()) {
    loops_.push_back({.last = loop, .at = now, .track = {}});
    return;
  }
  const LoopSnapshot& last = found->last;
  Track& track = found->track;
  const Rate rate(now - found->at);
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
  found->last = loop;
  found->at = now;
}

void History::add_server(const ServerSnapshot& server, TimePoint now) {
  auto found = std::ranges::find(servers_, server.number, [](const ServerTrack& each) { return each.last.number; });
  if (found == servers_.end()) {
    servers_.push_back({.last = server, .at = now, .track = {}});
    return;
  }
  const ServerSnapshot& last = found->last;
  Track& track = found->track;
  const Rate rate(now - found->at);
  track.set("connections", newest_, static_cast<double>(server.connections));
  track.set("opened_per_second", newest_, rate(server.stats.opened, last.stats.opened));
  track.set("refused_per_second", newest_,
            rate(server.stats.refused + server.stats.evicted, last.stats.refused + last.stats.evicted));
  if (server.http && last.http) {
    track.set("requests_per_second", newest_, rate(server.http->requests, last.http->requests));
    track.set("client_errors_per_second", newest_, rate(server.http->answers.at(4), last.http->answers.at(4)));
    track.set("server_errors_per_second", newest_, rate(server.http->answers.at(5), last.http->answers.at(5)));
  }
  if (!server.methods.empty()) {
    const MethodStats calls = together(server.methods);
    const MethodStats earlier = together(last.methods);
    const Histogram latency = recorded_since(calls.latency, earlier.latency);
    track.set("requests_per_second", newest_, rate(calls.calls, earlier.calls));
    track.set("server_errors_per_second", newest_, rate(calls.failed, earlier.failed));
    if (!latency.empty()) {
      track.set("latency_p50_seconds", newest_, seconds_at(latency, 50));
      track.set("latency_p99_seconds", newest_, seconds_at(latency, 99));
    }
  }
  found->last = server;
  found->at = now;
}

// Loops and servers that are shown no more are not shown in the graphs either.
void History::forget_the_gone(const Snapshot& snapshot) {
  std::erase_if(loops_, [&](const LoopTrack& each) {
    return std::ranges::find(snapshot.loops, each.last.number, &LoopSnapshot::number) == snapshot.loops.end();
  });
  std::erase_if(servers_, [&](const ServerTrack& each) {
    return std::ranges::find(snapshot.servers, each.last.number, &ServerSnapshot::number) == snapshot.servers.end();
  });
}

nlohmann::ordered_json History::since(uint64_t seen) const {
  const uint64_t oldest = newest_ > kSamples ? newest_ - kSamples + 1 : 1;
  const uint64_t first = seen > newest_ ? oldest : std::max(seen + 1, oldest);
  Json times = Json::array();
  for (uint64_t number = first; number <= newest_; ++number) times.push_back(times_.at(number % kSamples));
  Json process = Json::object();
  process_track_.write(process, first, newest_);
  Json loops = Json::array();
  for (const LoopTrack& each : loops_) {
    loops.push_back({{"loop", each.last.number}, {"thread", each.last.thread}});
    each.track.write(loops.back(), first, newest_);
  }
  Json servers = Json::array();
  for (const ServerTrack& each : servers_) {
    servers.push_back({{"server", each.last.number}, {"name", each.last.name}});
    each.track.write(servers.back(), first, newest_);
  }
  return {
      {"period_seconds", in_seconds(kPeriod)}, {"newest", newest_},         {"taken_unix_seconds", std::move(times)},
      {"process", std::move(process)},         {"loops", std::move(loops)}, {"servers", std::move(servers)}};
}

}  // namespace peal::detail
