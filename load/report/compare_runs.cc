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

// The smallest number of intervals that a run needs for a comparison by intervals. If each side has only one run, the
// two runs are compared by their intervals, because one value a side cannot be tested. Only intervals in which the
// figure is known are counted. Neighbouring intervals resemble each other, so they are not independent. Therefore, the
// intervals of each run are joined into kFewestRestarts long parts, and the parts are compared.
constexpr size_t kFewestIntervals = 10;

// A figure that is compared, such as a percentile of the latency. of_run() returns the value of the figure for a whole
// run. of_interval() returns the value for one interval of a run, for example for one second. Both return 0 if the
// value is not known. row_of() leaves out all values that are not positive, because it needs the logarithm of each
// value.
struct Figure {
  std::string name;
  std::function<double(const RunRecord&)> of_run;
  std::function<double(const Interval&)> of_interval = {};  // empty if only whole runs have the figure
  std::string_view too_few = {};                            // completes the sentence "fewer than 10 intervals ..."
  std::string untested = {};  // why the figure is shown and not tested; empty if it is tested
  bool more_is_better = false;
  // If the figure is a percentile of the latency, this member is the percentile, for example 99. For all other figures,
  // this member is 0. If a side has only one run, the report also shows the confidence interval of the percentile for
  // this side. The confidence interval is computed from the latencies of this run.
  double latency_percent = 0;
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

// Returns the value of the figure for each interval of a run. Leaves out intervals that are too short, for example a
// short last interval. An interval is too short if it is shorter than half of the value of --interval.
std::vector<double> values_of_intervals(const RunRecord& record, const Figure& figure) {
  std::vector<double> values;
  for (const Interval& interval : record.outcome.intervals) {
    if ((interval.to - interval.from) * 2 >= record.options.interval) values.push_back(figure.of_interval(interval));
  }
  return values;
}

// Divides the list `values` into `parts` groups of neighbouring values. The lengths of the groups differ by at most
// one. Returns one number for each group: the mean of the logarithms of its values.
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

// Estimates the ratio second / first. Divides each of the two lists into `parts` parts. Each part of `second` is
// compared with the part of `first` that has the same number.
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
    row.remark = "a run has only one value";
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

// Makes a Figure from a percentile of a histogram. `times_of` is a function that returns this histogram for a run. A
// percentile of a run is known if at least 10 samples (kSamplesAbove) lie above it. If the percentile is not known in
// every run, the report shows the figure but does not test the difference, because the value depends too much on
// chance.
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

// Returns a percentile of the latency in one interval. Returns 0 in these cases:
// - The percentiles of the interval are not known. The interval is then a sum of intervals of several runs, and not all
//   of them had a histogram. Percentiles of a sum can be computed only from histograms.
// - Fewer than 10 messages (kSamplesAbove) lie above the percentile. The percentile then depends too much on chance.
double percentile_of_interval(const Interval& interval, const IntervalPercentile& percentile) {
  const double above = static_cast<double>(interval.counts.messages) * (100 - percentile.percent) / 100;
  const bool knows_it = interval.percentiles_known && above + 1e-6 >= static_cast<double>(kSamplesAbove);
  return knows_it ? static_cast<double>(interval.*percentile.value) : 0;
}

// Returns the figures that are compared, such as percentiles, in the order of the report. Leaves out the figures that
// one of the runs does not have.
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
    if (each.percent == 100) continue;  // the maximum is not compared: it differs too much from run to run
    figures.push_back(
        percentile_figure(fmt::format("latency p{:g}", each.percent), each.percent, runs,
                          [](const RunRecord& run) -> const Histogram& { return run.outcome.total.latency; }));
    figures.back().of_interval = [each](const Interval& interval) { return percentile_of_interval(interval, each); };
    figures.back().too_few = "have enough messages for it";
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
    comparison.notes.emplace_back(fmt::format(
        "One run a side compares only these two runs; it cannot show how much runs differ from one another. "
        "Give {} or more runs a side for that: A1.json A2.json ... --against B1.json B2.json ...",
        kFewestRestarts));
  }
  for (const std::string& difference : differences(first.front().record, second.front().record)) {
    comparison.notes.push_back(fmt::format("The runs had different options: {}.", difference));
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
  PEAL_ASSERT(!first.empty() && !second.empty(), "both sides need runs, but there are {} against {}", first.size(),
              second.size());
  std::vector<const RunRecord*> runs;
  for (const Side* side : {&first, &second}) {
    for (const NamedRecord& run : *side) {
      runs.push_back(&run.record);
      if (run.record.experiment != first.front().record.experiment) {
        return std::unexpected(fmt::format("{} is a run of {}, but {} is a run of {}: they cannot be compared",
                                           run.name, run.record.experiment, first.front().name,
                                           first.front().record.experiment));
      }
      if (const std::vector<std::string> found = differences(side->front().record, run.record); !found.empty()) {
        return std::unexpected(fmt::format("{} and {} cannot be on the same side: their {} differ", side->front().name,
                                           run.name, found.front()));
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
