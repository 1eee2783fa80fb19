// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/compare_runs.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
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

struct Percentile {
  std::string_view name;
  double percent;
  int64_t Interval::* of_interval;
};

constexpr std::array<Percentile, 4> kPercentiles{{{"latency p50", 50, &Interval::p50_ns},
                                                  {"latency p90", 90, &Interval::p90_ns},
                                                  {"latency p99", 99, &Interval::p99_ns},
                                                  {"latency p99.9", 99.9, &Interval::p999_ns}}};

std::string side_name(const Side& side) {
  return side.size() == 1 ? side.front().name : fmt::format("{} and {} more", side.front().name, side.size() - 1);
}

template <class Figure>
std::vector<double> figures(const Side& side, Figure figure) {
  std::vector<double> values;
  values.reserve(side.size());
  for (const NamedRecord& run : side) values.push_back(figure(run.record));
  return values;
}

// Of whole intervals: the last one may be a splinter.
template <class Figure>
std::vector<double> series(const RunRecord& record, Figure figure) {
  std::vector<double> values;
  for (const Interval& interval : record.outcome.intervals) {
    if ((interval.to - interval.from) * 2 >= record.options.interval) values.push_back(figure(interval));
  }
  return values;
}

std::vector<double> positive_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !(value > 0) || !std::isfinite(value); });
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

class Comparer {
 public:
  Comparer(const Side& first, const Side& second) : first_(first), second_(second) {}

  Comparison compare();

 private:
  using Row = Comparison::Row;
  bool one_each() const { return first_.size() == 1 && second_.size() == 1; }
  // The difference of a figure that each run has one of.
  template <class Figure>
  void test_runs(Row& row, Figure figure) const;
  // Of one that each interval of the two runs has; where it is unknown it is 0. `remark`: too few have it.
  template <class Figure>
  void test_intervals(Row& row, Figure figure, std::string_view remark) const;
  void add_throughput();
  void add_percentile(const Percentile& percentile);
  void add_server_cpu();
  void add_handshakes();
  void decide();
  void conclude();
  void note_gates(const Side& side);
  void take_notes();

  const Side& first_;
  const Side& second_;
  Comparison result_;
};

template <class Figure>
void Comparer::test_runs(Row& row, Figure figure) const {
  if (one_each()) return;
  const size_t runs = std::min(first_.size(), second_.size());
  const std::vector<double> firsts = positive_of(figures(first_, figure));
  const std::vector<double> seconds = positive_of(figures(second_, figure));
  const size_t parts = std::min(firsts.size(), seconds.size());
  if (parts < kFewestRestarts) {
    row.remark = fmt::format("fewer than {} runs a side{}", kFewestRestarts, runs < kFewestRestarts ? "" : " have it");
  } else {
    row.difference = estimate_of(firsts, seconds, parts);
  }
}

template <class Figure>
void Comparer::test_intervals(Row& row, Figure figure, std::string_view remark) const {
  const std::vector<double> firsts = positive_of(series(first_[0].record, figure));
  const std::vector<double> seconds = positive_of(series(second_[0].record, figure));
  if (std::min(firsts.size(), seconds.size()) < kFewestIntervals) {
    row.remark = fmt::format("fewer than {} intervals {}", kFewestIntervals, remark);
  } else {
    row.difference = estimate_of(firsts, seconds, kFewestRestarts);
  }
}

void Comparer::add_throughput() {
  const auto rate = [](const RunRecord& record) { return record.outcome.messages_per_s(); };
  Row row{.name = "messages/s",
          .more_is_better = true,
          .first = human_rate(median_of(figures(first_, rate))),
          .second = human_rate(median_of(figures(second_, rate))),
          .difference = std::nullopt,
          .remark = {}};
  if (!first_.front().record.options.closed_loop() || !second_.front().record.options.closed_loop()) {
    row.remark = "the schedule fixes it";
  } else if (one_each()) {
    test_intervals(row, [](const Interval& interval) { return interval.messages_per_s(); }, "a run");
  } else {
    test_runs(row, rate);
  }
  result_.rows.push_back(std::move(row));
}

// One run: with the bounds its histogram gives.
std::string percentile_figure(const Side& side, double percent) {
  if (side.size() == 1) {
    const Histogram& latency = side.front().record.outcome.total.latency;
    const auto [low, high] = percentile_bounds(latency, percent);
    return fmt::format("{} [{}, {}]", human_time(static_cast<double>(latency.value_at_percentile(percent))),
                       human_time(static_cast<double>(low)), human_time(static_cast<double>(high)));
  }
  return human_time(median_of(figures(side, [percent](const RunRecord& record) {
    return static_cast<double>(record.outcome.total.latency.value_at_percentile(percent));
  })));
}

void Comparer::add_percentile(const Percentile& percentile) {
  Row row{.name = std::string(percentile.name),
          .first = percentile_figure(first_, percentile.percent),
          .second = percentile_figure(second_, percentile.percent),
          .difference = std::nullopt,
          .remark = {}};
  const auto known = [&percentile](const NamedRecord& run) {
    return is_known(run.record.outcome.total.latency, percentile.percent);
  };
  if (!std::ranges::all_of(first_, known) || !std::ranges::all_of(second_, known)) {
    row.remark = fmt::format("fewer than {} samples above it", kSamplesAbove);
  } else if (one_each()) {
    // An interval with too few samples above the percentile has no such percentile.
    const auto of_interval = [&percentile](const Interval& interval) {
      const double above = static_cast<double>(interval.counts.messages) * (100 - percentile.percent) / 100;
      return interval.percentiles_known && above + 1e-6 >= static_cast<double>(kSamplesAbove)
                 ? static_cast<double>(interval.*percentile.of_interval)
                 : 0.0;
    };
    test_intervals(row, of_interval, "know it");
  } else {
    test_runs(row, [&percentile](const RunRecord& record) {
      return static_cast<double>(record.outcome.total.latency.value_at_percentile(percentile.percent));
    });
  }
  result_.rows.push_back(std::move(row));
}

void Comparer::add_server_cpu() {
  const auto known = [](const NamedRecord& run) { return run.record.outcome.knows_server_cpu(); };
  if (!std::ranges::all_of(first_, known) || !std::ranges::all_of(second_, known)) return;
  const auto cost = [](const RunRecord& record) { return record.outcome.server_ns_per_message(); };
  Row row{.name = "server CPU/msg",
          .first = human_time(median_of(figures(first_, cost))),
          .second = human_time(median_of(figures(second_, cost))),
          .difference = std::nullopt,
          .remark = one_each() ? "one figure a run" : ""};
  test_runs(row, cost);
  result_.rows.push_back(std::move(row));
}

// A figure of the whole run: its intervals do not have it.
void Comparer::add_handshakes() {
  const auto known = [](const NamedRecord& run) { return run.record.outcome.handshakes.has_value(); };
  if (!std::ranges::all_of(first_, known) || !std::ranges::all_of(second_, known)) return;
  for (const auto& [name, percent] : {std::pair("handshake p50", 50.0), std::pair("handshake p99", 99.0)}) {
    const auto enough = [percent](const NamedRecord& run) {
      return is_known(run.record.outcome.handshakes->times, percent);
    };
    const auto time = [percent](const RunRecord& record) {
      return static_cast<double>(record.outcome.handshakes->times.value_at_percentile(percent));
    };
    Row row{.name = name,
            .first = human_time(median_of(figures(first_, time))),
            .second = human_time(median_of(figures(second_, time))),
            .difference = std::nullopt,
            .remark = one_each() ? "one figure a run" : ""};
    if (!std::ranges::all_of(first_, enough) || !std::ranges::all_of(second_, enough)) {
      row.remark = fmt::format("fewer than {} samples above it", kSamplesAbove);
    } else {
      test_runs(row, time);
    }
    result_.rows.push_back(std::move(row));
  }
}

void Comparer::decide() {
  std::vector<RatioQuestion> questions;
  for (const Row& row : result_.rows) {
    if (row.difference) questions.push_back({.subject = "second", .rival = "first", .estimate = *row.difference});
  }
  const std::vector<RatioAnswer> answers = judge_ratios(questions);
  size_t at = 0;
  for (Row& row : result_.rows) {
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

void Comparer::conclude() {
  const std::string for_first = gains(result_.rows, Better::kFirst);
  const std::string for_second = gains(result_.rows, Better::kSecond);
  if (result_.invalid) {
    result_.conclusion = "One cannot tell: a run that is INVALID does not mean what it says.";
  } else if (for_first.empty() && for_second.empty()) {
    const auto is_tested = [](const Row& row) { return row.difference.has_value(); };
    const auto is_open = [](const Row& row) { return row.difference && row.answer.verdict != RatioVerdict::kLevel; };
    result_.conclusion =
        std::ranges::any_of(result_.rows, is_open) ? "One cannot tell which is better: what differs may be chance."
        : std::ranges::any_of(result_.rows, is_tested)
            ? fmt::format("Neither is better: what was tested differs by less than {:.0f} %.", 100 * (kNarrow - 1))
            : "One cannot tell which is better: there is too little to test.";
  } else if (for_first.empty()) {
    result_.conclusion = fmt::format("{} is better: {}.", result_.second, for_second);
  } else if (for_second.empty()) {
    result_.conclusion = fmt::format("{} is better: {}.", result_.first, for_first);
  } else {
    result_.conclusion = fmt::format("Neither is better throughout: {} ({}), {} ({}).", result_.first, for_first,
                                     result_.second, for_second);
  }
}

void Comparer::note_gates(const Side& side) {
  for (const NamedRecord& run : side) {
    for (const Gate& gate : run.record.gates) {
      result_.notes.push_back(fmt::format("{} is {}: {}", run.name, to_string(gate.verdict), gate.sentence));
      result_.invalid = result_.invalid || gate.verdict == Verdict::kInvalid;
    }
  }
}

void Comparer::take_notes() {
  if (one_each()) {
    result_.notes.emplace_back(
        fmt::format("One run each tells these two runs apart; how much runs differ from one another it cannot show. "
                    "{} and more a side can: A1.json A2.json ... --against B1.json B2.json ...",
                    kFewestRestarts));
  }
  for (std::string& difference : differences(first_.front().record, second_.front().record)) {
    result_.notes.push_back(fmt::format("They were asked for different things: {}.", difference));
  }
  note_gates(first_);
  note_gates(second_);
}

Comparison Comparer::compare() {
  result_.first = side_name(first_);
  result_.second = side_name(second_);
  add_throughput();
  for (const Percentile& percentile : kPercentiles) add_percentile(percentile);
  add_handshakes();
  add_server_cpu();
  take_notes();
  decide();
  conclude();
  return std::move(result_);
}

}  // namespace

std::expected<Comparison, std::string> compare_runs(const Side& first, const Side& second) {
  PEAL_ASSERT(!first.empty() && !second.empty(), "{} runs against {}", first.size(), second.size());
  for (const Side* side : {&first, &second}) {
    for (const NamedRecord& run : *side) {
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
  return Comparer(first, second).compare();
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
