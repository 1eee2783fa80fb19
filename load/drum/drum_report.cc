// SPDX-License-Identifier: BSD-3-Clause
#include <load/drum/drum_report.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peal/base/assert.h>

namespace peal::load {
namespace {

DrumTimes times_of(std::span<const DrumRound> rounds, Duration DrumRound::* part) {
  std::vector<int64_t> sorted;
  for (const DrumRound& round : rounds) sorted.push_back((round.*part).count());
  std::ranges::sort(sorted);
  const auto count = static_cast<int64_t>(sorted.size());
  const int64_t middle = sorted[sorted.size() / 2];
  const int64_t below = sorted[(sorted.size() - 1) / 2];
  return {.mean = Duration(std::reduce(sorted.begin(), sorted.end()) / count),
          .median = Duration((middle + below) / 2),
          .least = Duration(sorted.front())};
}

double micros(Duration time) { return static_cast<double>(time.count()) / 1e3; }

std::string times_line(std::string_view name, Duration first, const DrumTimes& times) {
  return fmt::format("{:<12}round 1 {:.1f} us; later rounds: mean {:.1f} us, median {:.1f} us, least {:.1f} us\n", name,
                     micros(first), micros(times.mean), micros(times.median), micros(times.least));
}

std::string_view idle_name(DrumIdle idle) {
  switch (idle) {
    case DrumIdle::kNone: return "none";
    case DrumIdle::kTouch: return "touch";
    case DrumIdle::kRearm: return "rearm";
  }
  return "none";
}

std::string_view idle_words(DrumIdle idle) {
  switch (idle) {
    case DrumIdle::kNone: return "no idle timers";
    case DrumIdle::kTouch: return "idle timers of 10 to 11 s, touched at each byte";
    case DrumIdle::kRearm: return "idle timers of 10 to 11 s, moved at each byte";
  }
  return "";
}

}  // namespace

DrumFigures drum_figures(std::span<const DrumRound> rounds) {
  PEAL_ASSERT(rounds.size() >= 2, "the figures need at least 2 rounds, not {}", rounds.size());
  const std::span<const DrumRound> later = rounds.subspan(1);
  double waits = 0;
  double events = 0;
  for (const DrumRound& round : later) {
    waits += static_cast<double>(round.waits);
    events += static_cast<double>(round.events);
  }
  return {.total = times_of(later, &DrumRound::total),
          .loop = times_of(later, &DrumRound::loop),
          .waits = waits / static_cast<double>(later.size()),
          .events_per_wait = waits > 0 ? events / waits : 0};
}

std::string drum_text(const DrumOptions& options, const DrumOutcome& outcome) {
  const DrumFigures figures = drum_figures(outcome.rounds);
  const DrumRound& first = outcome.rounds.front();
  std::string text = fmt::format("{:<12}{} {}, {} active, {} writes, {} rounds, {}, engine {}\n", "drum", options.pairs,
                                 options.pipes ? "pipes" : "socketpairs", options.active, options.writes,
                                 outcome.rounds.size(), idle_words(options.idle), outcome.engine);
  text += times_line("total", first.total, figures.total);
  text += times_line("loop", first.loop, figures.loop);
  text += fmt::format("{:<12}{} bytes a round in {:.1f} waits, {:.1f} events each\n", "receives", first.receives,
                      figures.waits, figures.events_per_wait);
  if (outcome.idle_ends > 0) {
    text +=
        fmt::format("{:<12}{} watchers heard nothing for longer than their idle timeout\n", "idle", outcome.idle_ends);
  }
  return text;
}

std::string drum_json(const DrumOptions& options, const DrumOutcome& outcome) {
  nlohmann::ordered_json json{{"schema", 1},
                              {"tool", "drum"},
                              {"library", "peal"},
                              {"engine", outcome.engine},
                              {"pairs", options.pairs},
                              {"active", options.active},
                              {"writes", options.writes},
                              {"timeouts", options.idle != DrumIdle::kNone},
                              {"idle", idle_name(options.idle)},
                              {"transport", options.pipes ? "pipe" : "socketpair"}};
  json["rounds"] = nlohmann::ordered_json::array();
  for (const DrumRound& round : outcome.rounds) {
    json["rounds"].push_back({{"total_ns", round.total.count()},
                              {"loop_ns", round.loop.count()},
                              {"waits", round.waits},
                              {"events", round.events},
                              {"receives", round.receives}});
  }
  return json.dump() + "\n";
}

}  // namespace peal::load
