// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/compare_runs.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include <load/report/report_text.h>
#include <load/statistics/percentile_bounds.h>
#include <load/statistics/significance.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

using Side = std::vector<NamedRecord>;

// Of a run that is compared by itself; successive ones resemble each other, so few parts of many are taken.
constexpr size_t kFewestIntervals = 10;

// One thing that is compared. A value of 0 or less: the run, or the interval, does not know it.
struct Figure {
  std::string name;
  std::function<double(const RunRecord&)> of_run;
  std::function<double(const Interval&)> of_interval = {};  // none: only whole runs have it
  std::string_view too_few = {};                            // what too few intervals do, or belong to
  std::string untested = {};                                // why it is shown and not tested; empty: it is tested
  bool more_is_better = false;
  double latency_percent = 0;  // of a percentile of the latency: a single run shows how well it knows that
};

std::string side_name(const Side& side) {
  return side.size() == 1 ? side.front().name : fmt::format("{} and {} more", side.front().name, side.size() - 1);
}

std::vector<double> values_of_runs(const Side& side, const Figure& figure) {
  std::vector<double> values;
  values.reserve(side.size());
  for (const NamedRecord& run : side) values.push_back(figure.of_run(run.record));
  return values;
}

// Of whole intervals: the last one may be a splinter.
std::vector<double> values_of_intervals(const RunRecord& record, const Figure& figure) {
  std::vector<double> values;
  for (const Interval& interval : record.outcome.intervals) {
    if ((interval.to - interval.from) * 2 >= record.options.interval) values.push_back(figure.of_interval(interval));
  }
  return values;
}

// The mean logarithms of so many parts of it; no part is more than one value longer than another.
std::vector<double> part_logs(std::span<const double> values, size_t parts) {
  std::vector<double> logs(parts, 0.0);
  for (size_t i = 0; i < parts; ++i) {
    const size_t first = i * values.size() / parts;
    const size_t last = (i + 1) * values.size() / parts;
    for (const double value : values.subspan(first, last - first)) logs[i] += std::log(value);
    logs[i] /= static_cast<double>(last - first);
  }
  return logs;
}

// second / first by part.
RatioEstimate estimate_of(std::span<const double> first, std::span<const double> second, size_t parts) {
  std::vector<double> logs = part_logs(second, parts);
  const std::vector<double> firsts = part_logs(first, parts);
  for (size_t i = 0; i < parts; ++i) logs[i] -= firsts[i];
  return RatioEstimate(logs);
}

bool one_each(const Side& first, const Side& second) { return first.size() == 1 && second.size() == 1; }

std::string text_of(const Side& side, const Figure& figure) {
  const double middle = median_of(values_of_runs(side, figure));
  if (figure.more_is_better) return human_rate(middle);
  if (side.size() > 1 || figure.latency_percent == 0) return human_time(middle);
  const auto [low, high] = percentile_bounds(side.front().record.outcome.total.latency, figure.latency_percent);
  return fmt::format("{} [{}, {}]", human_time(middle), human_time(static_cast<double>(low)),
                     human_time(static_cast<double>(high)));
}

Comparison::Row row_of(const Figure& figure, const Side& first, const Side& second) {
  Comparison::Row row{.name = figure.name,
                      .more_is_better = figure.more_is_better,
                      .first = text_of(first, figure),
                      .second = text_of(second, figure),
                      .difference = std::nullopt,
                      .remark = figure.untested};
  if (!row.remark.empty()) return row;
  const bool of_intervals = one_each(first, second);
  if (of_intervals && !figure.of_interval) {
    row.remark = "one figure a run";
    return row;
  }
  const auto known_values = [&](const Side& side) {
    std::vector<double> values =
        of_intervals ? values_of_intervals(side.front().record, figure) : values_of_runs(side, figure);
    std::erase_if(values, [](double value) { return !(value > 0) || !std::isfinite(value); });
    return values;
  };
  const std::vector<double> firsts = known_values(first);
  const std::vector<double> seconds = known_values(second);
  const size_t known = std::min(firsts.size(), seconds.size());
  if (known >= (of_intervals ? kFewestIntervals : kFewestRestarts)) {
    row.difference = estimate_of(firsts, seconds, of_intervals ? kFewestRestarts : known);
  } else if (of_intervals) {
    row.remark = fmt::format("fewer than {} intervals {}", kFewestIntervals, figure.too_few);
  } else {
    const bool has_runs = std::min(first.size(), second.size()) >= kFewestRestarts;
    row.remark = fmt::format("fewer than {} runs a side{}", kFewestRestarts, has_runs ? " have it" : "");
  }
  return row;
}

// Of a run's times that `times_of` says; one of them is known where enough samples lie above it.
template <class TimesOf>
Figure percentile_figure(const std::string& name, double percent, const std::vector<const RunRecord*>& runs,
                         TimesOf times_of) {
  const auto knows = [&](const RunRecord* run) { return is_known(times_of(*run), percent); };
  return {
      .name = name,
      .of_run = [percent, times_of](
                    const RunRecord& run) { return static_cast<double>(times_of(run).value_at_percentile(percent)); },
      .untested = std::ranges::all_of(runs, knows) ? std::string()
                                                   : fmt::format("fewer than {} samples above it", kSamplesAbove)};
}

// An interval with too few samples above the percentile has no such percentile.
double percentile_of_interval(const Interval& interval, const IntervalPercentile& percentile) {
  const double above = static_cast<double>(interval.counts.messages) * (100 - percentile.percent) / 100;
  const bool knows_it = interval.percentiles_known && above + 1e-6 >= static_cast<double>(kSamplesAbove);
  return knows_it ? static_cast<double>(interval.*percentile.value) : 0;
}

// What all of these runs have, in the order it is shown.
std::vector<Figure> figures_of(const std::vector<const RunRecord*>& runs) {
  const auto all = [&runs](auto has) {
    return std::ranges::all_of(runs, [&](const RunRecord* run) { return has(*run); });
  };
  std::vector<Figure> figures{
      {.name = "messages/s",
       .of_run = [](const RunRecord& run) { return run.outcome.messages_per_s(); },
       .of_interval = [](const Interval& interval) { return interval.messages_per_s(); },
       .too_few = "a run",
       .untested = all([](const RunRecord& run) { return run.options.closed_loop(); }) ? "" : "the schedule fixes it",
       .more_is_better = true}};
  for (const IntervalPercentile& each : kIntervalPercentiles) {
    if (each.percent == 100) continue;  // the slowest message of a run says little of the next run's
    figures.push_back(
        percentile_figure(fmt::format("latency p{:g}", each.percent), each.percent, runs,
                          [](const RunRecord& run) -> const Histogram& { return run.outcome.total.latency; }));
    figures.back().of_interval = [each](const Interval& interval) { return percentile_of_interval(interval, each); };
    figures.back().too_few = "know it";
    figures.back().latency_percent = each.percent;
  }
  if (all([](const RunRecord& run) { return run.outcome.handshakes.has_value(); })) {
    for (const double percent : {50.0, 99.0}) {
      figures.push_back(
          percentile_figure(fmt::format("handshake p{:g}", percent), percent, runs,
                            [](const RunRecord& run) -> const Histogram& { return run.outcome.handshakes->times; }));
    }
  }
  if (all([](const RunRecord& run) { return run.outcome.knows_server_cpu(); })) {
    figures.push_back(
        {.name = "server CPU/msg", .of_run = [](const RunRecord& run) { return run.outcome.server_ns_per_message(); }});
  }
  return figures;
}

void decide(std::vector<Comparison::Row>& rows) {
  std::vector<RatioQuestion> questions;
  for (const Comparison::Row& row : rows) {
    if (row.difference) questions.push_back({.subject = "second", .rival = "first", .estimate = *row.difference});
  }
  const std::vector<RatioAnswer> answers = judge_ratios(questions);
  size_t at = 0;
  for (Comparison::Row& row : rows) {
    if (!row.difference) continue;
    row.answer = answers[at++];
    const bool is_more = row.answer.verdict == RatioVerdict::kMore;
    if (!is_more && row.answer.verdict != RatioVerdict::kLess) continue;
    row.better = is_more == row.more_is_better ? Better::kSecond : Better::kFirst;
  }
}

std::string gains(const std::vector<Comparison::Row>& rows, Better better) {
  std::vector<std::string> found;
  for (const Comparison::Row& row : rows) {
    if (row.better != better) continue;
    const double ratio = better == Better::kSecond ? row.difference->ratio() : 1 / row.difference->ratio();
    found.push_back(fmt::format("{} {:+.1f} %", row.name, 100 * (ratio - 1)));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

std::string conclusion_of(const Comparison& comparison) {
  if (comparison.invalid) return "One cannot tell: a run that is INVALID does not mean what it says.";
  const std::string for_first = gains(comparison.rows, Better::kFirst);
  const std::string for_second = gains(comparison.rows, Better::kSecond);
  if (!for_first.empty() && !for_second.empty()) {
    return fmt::format("Neither is better throughout: {} ({}), {} ({}).", comparison.first, for_first,
                       comparison.second, for_second);
  }
  if (!for_second.empty()) return fmt::format("{} is better: {}.", comparison.second, for_second);
  if (!for_first.empty()) return fmt::format("{} is better: {}.", comparison.first, for_first);
  const auto is_tested = [](const Comparison::Row& row) { return row.difference.has_value(); };
  const auto is_open = [&](const Comparison::Row& row) {
    return is_tested(row) && row.answer.verdict != RatioVerdict::kLevel;
  };
  if (std::ranges::any_of(comparison.rows, is_open)) {
    return "One cannot tell which is better: what differs may be chance.";
  }
  if (std::ranges::none_of(comparison.rows, is_tested)) {
    return "One cannot tell which is better: there is too little to test.";
  }
  return fmt::format("Neither is better: what was tested differs by less than {:.0f} %.", 100 * (kNarrow - 1));
}

void take_notes(const Side& first, const Side& second, Comparison& comparison) {
  if (one_each(first, second)) {
    comparison.notes.emplace_back(
        fmt::format("One run each tells these two runs apart; how much runs differ from one another it cannot show. "
                    "{} and more a side can: A1.json A2.json ... --against B1.json B2.json ...",
                    kFewestRestarts));
  }
  for (const std::string& difference : differences(first.front().record, second.front().record)) {
    comparison.notes.push_back(fmt::format("They were asked for different things: {}.", difference));
  }
  for (const Side* side : {&first, &second}) {
    for (const NamedRecord& run : *side) {
      for (const Gate& gate : run.record.gates) {
        comparison.notes.push_back(fmt::format("{} is {}: {}", run.name, to_string(gate.verdict), gate.sentence));
        comparison.invalid = comparison.invalid || gate.verdict == Verdict::kInvalid;
      }
    }
  }
}

}  // namespace

std::expected<Comparison, std::string> compare_runs(const Side& first, const Side& second) {
  PEAL_ASSERT(!first.empty() && !second.empty(), "{} runs against {}", first.size(), second.size());
  std::vector<const RunRecord*> runs;
  for (const Side* side : {&first, &second}) {
    for (const NamedRecord& run : *side) {
      runs.push_back(&run.record);
      if (run.record.experiment != first.front().record.experiment) {
        return std::unexpected(fmt::format("{} is a run of {}, {} one of {}: they cannot be compared", run.name,
                                           run.record.experiment, first.front().name, first.front().record.experiment));
      }
      if (const std::vector<std::string> found = differences(side->front().record, run.record); !found.empty()) {
        return std::unexpected(fmt::format("{} and {} are no runs of the same thing: their {} differ",
                                           side->front().name, run.name, found.front()));
      }
    }
  }
  Comparison comparison{.first = side_name(first), .second = side_name(second)};
  for (const Figure& figure : figures_of(runs)) comparison.rows.push_back(row_of(figure, first, second));
  take_notes(first, second, comparison);
  decide(comparison.rows);
  comparison.conclusion = conclusion_of(comparison);
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = fmt::format("first: {}\nsecond: {}\n{:<15} {:>34} {:>34}  second / first\n", comparison.first,
                                 comparison.second, "", "first", "second");
  for (const Comparison::Row& row : comparison.rows) {
    text += fmt::format("{:<15} {:>34} {:>34}  ", row.name, row.first, row.second);
    if (!row.difference) {
      text += fmt::format("not tested: {}\n", row.remark);
      continue;
    }
    const std::string_view verdict = row.better == Better::kCannotTell ? to_string(row.answer.verdict)
                                     : row.better == Better::kFirst    ? "first is better"
                                                                       : "second is better";
    text += fmt::format("{}, p {:.2g}: {}{}\n", ratio_text(*row.difference), row.answer.adjusted_p, verdict,
                        row.answer.why.empty() ? "" : ": " + row.answer.why);
  }
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", note);
  text += fmt::format("{}\n", comparison.conclusion);
  return text;
}

}  // namespace peal::load
