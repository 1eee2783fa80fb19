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

// Computes the time during which all runs were measuring. Returns this time divided by the length of the longest
// measurement. The result is 0 or negative if there was no time at which all runs were measuring.
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

// Adds the figures of `other` to `into`. Leaves out three things: the figures of the server, the time series and the
// length of the measurement. merge_runs() computes these three from all runs together.
void add_outcome(Outcome& into, const Outcome& other) {
  if (!into.engine.contains(other.engine)) into.engine += "+" + other.engine;
  into.began = std::min(into.began, other.began);
  into.total.add(other.total);
  into.lifetime.add(other.lifetime);
  into.connect.add(other.connect);
  if (into.handshakes && other.handshakes) into.handshakes->add(*other.handshakes);
  into.failures.add(other.failures);
  for (const auto& [status, count] : other.statuses) into.statuses[status] += count;
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

// Combines the figures of the server from all runs, for example its CPU time. If several runs have measured the same
// server process, each of them has seen the whole use of the process. Therefore, the mean of their figures is used, but
// the maximum of their numbers of processes. After that, the figures of different server processes are added up. The
// CPU time of the result is empty if one of the runs with a server does not know the CPU time. Returns std::nullopt if
// no run has measured a server.
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

// Adds up the time series of all runs. A time series is a list of intervals, for example of one second each. `began` is
// the start of the earliest measurement. The intervals of a run are numbered. The number of the first one says how many
// interval lengths after `began` the run began to measure, rounded to the nearest integer. Intervals of different runs
// with the same number are added up to one interval. If one of the runs has no interval with this number, the interval
// is left out. The result is empty if the runs have different values of --interval, or if the value is not positive.
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
      // `sum` already contains the intervals of `parts` runs, and `interval` is added to them. The runs measured at the
      // same time, so the length of `sum` must not grow. It becomes the mean of the lengths of all these intervals.
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

// Returns true if two records seem to be from the same run. Runs have no unique names. Therefore, the start times, the
// latencies and the CPU times are compared. If no message was answered, returns false. The latencies of two runs
// without answers are always equal, because there are none, so they cannot show that the runs are the same.
bool same_run(const RunRecord& a, const RunRecord& b) {
  return a.outcome.began == b.outcome.began && a.outcome.total.latency == b.outcome.total.latency &&
         a.outcome.total.cpu == b.outcome.total.cpu && a.outcome.total.counts.messages > 0;
}

std::string why_not(const std::vector<NamedRecord>& runs) {
  const NamedRecord& first = runs.front();
  for (size_t i = 1; i < runs.size(); ++i) {
    if (const std::vector<std::string> found = differences(first.record, runs[i].record); !found.empty()) {
      return fmt::format("{} and {} are not parts of one run: their {} differ", first.name, runs[i].name,
                         found.front());
    }
    for (size_t k = 0; k < i; ++k) {
      if (same_run(runs[k].record, runs[i].record)) {
        return fmt::format("{} and {} are the same run: added up, it would count twice", runs[k].name, runs[i].name);
      }
    }
  }
  if (overlap(runs) > 0) return {};
  return "these runs were not measured at the same time, so their sum has no meaning: start them together with "
         "--start-at";
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
