// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/merge_runs.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <peal/base/assert.h>

namespace peal::load {
namespace {

using WallTime = std::chrono::system_clock::time_point;

// When all of them were measured, as a share of the longest; 0 or less: never.
double overlap(const std::vector<NamedRecord>& runs) {
  WallTime begin = WallTime::min();
  WallTime end = WallTime::max();
  Duration longest{};
  for (const NamedRecord& run : runs) {
    const Outcome& outcome = run.record.outcome;
    begin = std::max(begin, outcome.began);
    end = std::min(end, outcome.began + outcome.window);
    longest = std::max(longest, outcome.window);
  }
  if (longest <= Duration::zero()) return runs.size() == 1 ? 1 : 0;
  return std::chrono::duration<double>(end - begin) / std::chrono::duration<double>(longest);
}

void add_options(LoadOptions& into, const LoadOptions& other) {
  into.connections += other.connections;
  into.idle_connections += other.idle_connections;
  into.threads += other.threads;
  into.expect_queueing = into.expect_queueing || other.expect_queueing;
  if (other.spin.mode != Spin::Mode::kOff) into.spin = other.spin;
}

// All but the server, the series and the window.
void add_outcome(Outcome& into, const Outcome& other) {
  if (!into.engine.contains(other.engine)) into.engine += "+" + other.engine;
  into.began = std::min(into.began, other.began);
  into.total.add(other.total);
  into.lifetime.add(other.lifetime);
  into.connect.add(other.connect);
  if (into.handshakes && other.handshakes) into.handshakes->add(*other.handshakes);
  into.failures.add(other.failures);
  into.opened += other.opened;
  into.served += other.served;
  into.queued.add(other.queued);
  into.idle_open += other.idle_open;
  into.unsent += other.unsent;
  into.unanswered += other.unanswered;
  into.offered += other.offered;
  into.came_back = into.came_back && other.came_back;
  into.interrupted = into.interrupted || other.interrupted;
  into.echoes = into.echoes && other.echoes;
}

// Generators beside the server may have watched the same process: that one counts once, with the mean of what they saw.
// Processes with different ids share the work, and add up.
std::optional<ServerUse> server_of(const std::vector<NamedRecord>& runs) {
  std::map<int, std::vector<ServerUse>> by_pid;
  for (const NamedRecord& run : runs) {
    if (run.record.outcome.server) {
      by_pid[run.record.options.server_pid.value_or(0)].push_back(*run.record.outcome.server);
    }
  }
  if (by_pid.empty()) return std::nullopt;
  ServerUse sum{.cpu = Duration::zero()};
  for (const auto& [pid, looks] : by_pid) {
    ServerUse all{.cpu = Duration::zero()};
    for (const ServerUse& look : looks) {
      all.cpu = all.cpu && look.cpu ? std::optional(*all.cpu + *look.cpu) : std::nullopt;
      all.rss_bytes += look.rss_bytes;
      all.voluntary_switches += look.voluntary_switches;
      all.involuntary_switches += look.involuntary_switches;
      all.processes = std::max(all.processes, look.processes);
      sum.forgets_children |= look.forgets_children;
    }
    const size_t count = looks.size();
    sum.cpu = sum.cpu && all.cpu ? std::optional(*sum.cpu + *all.cpu / static_cast<int64_t>(count)) : std::nullopt;
    sum.rss_bytes += all.rss_bytes / count;
    sum.voluntary_switches += all.voluntary_switches / count;
    sum.involuntary_switches += all.involuntary_switches / count;
    sum.processes += all.processes;
  }
  return sum;
}

void take_percentiles(Interval& interval) {
  interval.percentiles_known = interval.latency.has_value();
  interval.take_percentiles(interval.latency.value_or(Histogram(kLatencyRange)));
}

void add_interval(Interval& into, const Interval& other) {
  into.counts.add(other.counts);
  into.failures += other.failures;
  into.in_flight += other.in_flight;
  into.open += other.open;
  if (into.latency && other.latency) {
    into.latency->add(*other.latency);
  } else {
    into.latency.reset();
  }
}

// Step by step, a run that began later moved by whole steps. Only steps that every run has; none where they are of
// different lengths.
std::vector<Interval> series_of(const std::vector<NamedRecord>& runs, WallTime began) {
  const Duration step = runs.front().record.options.interval;
  std::map<int64_t, std::pair<Interval, int64_t>> steps;
  for (const NamedRecord& run : runs) {
    if (run.record.options.interval != step || step <= Duration::zero()) return {};
    const auto late = std::chrono::duration<double>(run.record.outcome.began - began);
    int64_t at = std::llround(late / std::chrono::duration<double>(step));
    for (const Interval& interval : run.record.outcome.intervals) {
      const auto [place, is_new] = steps.try_emplace(at++, interval, 1);
      if (is_new) continue;
      auto& [sum, parts] = place->second;
      // The mean length, as of the whole.
      sum.to = sum.from + ((sum.to - sum.from) * parts + (interval.to - interval.from)) / (parts + 1);
      add_interval(sum, interval);
      ++parts;
    }
  }
  std::vector<Interval> series;
  for (auto& [at, entry] : steps) {
    if (entry.second != static_cast<int64_t>(runs.size())) continue;
    if (runs.size() > 1) take_percentiles(entry.first);
    series.push_back(std::move(entry.first));
  }
  return series;
}

void add_verdicts(RunRecord& into, const NamedRecord& run, std::set<std::string>& skipped) {
  for (const Gate& gate : run.record.gates) {
    into.gates.push_back({gate.name, gate.verdict, fmt::format("{}: {}", run.name, gate.sentence)});
  }
  for (const SkippedGate& gate : run.record.skipped) {
    if (skipped.insert(gate.sentence).second) into.skipped.push_back(gate);
  }
}

// The names of files are not unique: what tells a run is when it began and what it counted.
bool same_run(const RunRecord& a, const RunRecord& b) {
  return a.outcome.began == b.outcome.began && a.outcome.total.latency == b.outcome.total.latency &&
         a.outcome.total.cpu == b.outcome.total.cpu && a.outcome.total.counts.messages > 0;
}

std::string why_not(const std::vector<NamedRecord>& runs) {
  const NamedRecord& first = runs.front();
  for (size_t i = 1; i < runs.size(); ++i) {
    if (const std::vector<std::string> found = differences(first.record, runs[i].record); !found.empty()) {
      return fmt::format("{} and {} are no parts of one run: their {} differ", first.name, runs[i].name, found.front());
    }
    for (size_t k = 0; k < i; ++k) {
      if (same_run(runs[k].record, runs[i].record)) {
        return fmt::format("{} and {} are the same run: added up, it would count twice", runs[k].name, runs[i].name);
      }
    }
  }
  if (overlap(runs) > 0) return {};
  return "these runs were not measured at the same time: their sum would be of no moment there ever was (start them "
         "together with --start-at)";
}

}  // namespace

std::expected<RunRecord, std::string> merge_runs(const std::vector<NamedRecord>& runs) {
  PEAL_ASSERT(!runs.empty(), "nothing to add up");
  if (std::string why = why_not(runs); !why.empty()) return std::unexpected(std::move(why));
  RunRecord sum = runs.front().record;
  const bool were_merged = !sum.merged.empty();
  sum.gates.clear();
  sum.skipped.clear();
  if (!were_merged) sum.merged = {runs.front().name};
  const auto parts_of = [](const RunRecord& record) {
    return record.merged.empty() ? int64_t{1} : static_cast<int64_t>(record.merged.size());
  };
  int64_t parts = parts_of(runs.front().record);
  Duration windows = sum.outcome.window * parts;
  std::set<std::string> schedules{sum.schedule};
  std::set<std::string> skipped;
  add_verdicts(sum, runs.front(), skipped);
  for (const NamedRecord& run : std::span(runs).subspan(1)) {
    add_options(sum.options, run.record.options);
    add_outcome(sum.outcome, run.record.outcome);
    windows += run.record.outcome.window * parts_of(run.record);
    parts += parts_of(run.record);
    schedules.insert(run.record.schedule);
    add_verdicts(sum, run, skipped);
    const std::vector<std::string> names = run.record.merged.empty() ? std::vector{run.name} : run.record.merged;
    sum.merged.insert(sum.merged.end(), names.begin(), names.end());
  }
  sum.outcome.window = windows / parts;
  sum.outcome.server = server_of(runs);
  sum.outcome.intervals = series_of(runs, sum.outcome.began);
  sum.schedule = fmt::format("{}", fmt::join(schedules, " and "));
  if (const double share = overlap(runs); share < kLeastOverlap) {
    sum.gates.push_back({"overlap", Verdict::kNoisy,
                         fmt::format("The runs were measured together for only {:.0f} % of the time.", 100 * share)});
  }
  put_gravest_first(sum.gates);
  return sum;
}

}  // namespace peal::load
