// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_text.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <load/report/report_text.h>
#include <peal/base/printable.h>

namespace peal::load {
namespace {

std::string_view title_of(DuelMetric metric) {
  switch (metric) {
    case DuelMetric::kServerCpu: return "server CPU per message";
    case DuelMetric::kRate: return "messages/s";
    case DuelMetric::kP50: return "latency, p50";
    case DuelMetric::kP99: return "latency, p99";
  }
  return "";
}

// Returns the words for a verdict in the report. For the verdicts kLess and kMore, the words depend on the metric, for
// example "slower" or "more CPU".
std::string_view word_of(DuelMetric metric, RatioVerdict verdict) {
  const bool less = verdict == RatioVerdict::kLess;
  if (verdict != RatioVerdict::kLess && verdict != RatioVerdict::kMore) return to_string(verdict);
  switch (metric) {
    case DuelMetric::kServerCpu: return less ? "less CPU" : "more CPU";
    case DuelMetric::kRate: return less ? "slower" : "faster";
    case DuelMetric::kP50:
    case DuelMetric::kP99: return less ? "sooner" : "later";
  }
  return "";
}

std::string seconds_text(Duration time) { return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count()); }

std::string on_cpus(const std::vector<int>& cpus) {
  return cpus.empty() ? std::string("not pinned") : fmt::format("on CPU {}", fmt::join(cpus, ","));
}

std::string cpus_text(const DuelRecord& record) {
  if (const std::optional<ServerHost>& host = record.server_host) {
    return fmt::format("servers on {} ({}, {}), {}; generator here, {}{}", host->name, host->address, host->kernel,
                       on_cpus(record.server_cpus), on_cpus(record.client_cpus),
                       host->is_here ? "; the two are one machine" : "");
  }
  if (record.server_cpus.empty()) {
    return std::ranges::any_of(record.options.contenders, &DuelContender::restarts)
               ? "servers and generator share the CPUs"
               : "the servers run where they were started";
  }
  return fmt::format("servers on CPU {}, generator on CPU {}", fmt::join(record.server_cpus, ","),
                     fmt::join(record.client_cpus, ","));
}

// Returns the width of the column of names, which is the length of the longest name of a contender.
size_t name_columns(const DuelOptions& options) {
  size_t columns = 0;
  for (const DuelContender& contender : options.contenders) columns = std::max(columns, contender.name.size());
  return columns;
}

void add_heading(std::string& out, const DuelRecord& record) {
  const DuelOptions& options = record.options;
  out += fmt::format("duel {}: {}, {}, {}{}", record.experiment, record.request,
                     counted(options.load.connections, "connection"), counted(options.load.threads, "thread"),
                     use_of_connections(options.load));
  if (options.load.idle_connections > 0) {
    out += fmt::format(", {} idle ones beside", human_count(options.load.idle_connections));
  }
  out += fmt::format(", {}\n", record.schedule);
  out += fmt::format("{}slices of {}, {} a restart; {} in {}\n", options.in_turn ? "one contender at a time; " : "",
                     human_time(options.slice), counted(options.rounds, "round"), counted(record.restarts, "restart"),
                     seconds_text(record.elapsed));
  out += fmt::format("{}; engine {}; seed {}\n\n", cpus_text(record), record.engine, options.load.seed);
}

void add_figures(std::string& out, const DuelRecord& record, const DuelJudgement& judgement) {
  const DuelOptions& options = record.options;
  const size_t width = name_columns(options);
  out += fmt::format("{:<{}}{:>15}{:>15}{:>15}", "", width, "server CPU", "generator CPU", "messages/s");
  if (options.shows_latency()) out += fmt::format("{:>11}{:>11}{:>11}", "p50", "p99", "p99.9");
  out += '\n';
  for (size_t i = 0; i < options.contenders.size(); ++i) {
    const DuelFigures& figures = judgement.figures[i];
    out +=
        fmt::format("{:<{}}{:>15}{:>15}{:>15}", options.contenders[i].name, width,
                    figures.server_cpu_ns ? human_time(*figures.server_cpu_ns) : "-", human_time(figures.client_cpu_ns),
                    (figures.bounded ? ">= " : "") + human_rate(figures.messages_per_s));
    if (options.shows_latency()) {
      for (const double percent : {50.0, 99.0, 99.9}) {
        const Histogram& latency = record.sides[i].latency;
        out += fmt::format("{:>11}", latency.empty() ? "-" : shown_percentile(latency, percent));
      }
    }
    out += '\n';
  }
  out += "CPU per message; medians over the restarts\n";
  if (std::ranges::any_of(judgement.figures, &DuelFigures::bounded)) {
    out += ">= : the generator was full before the server was\n";
  }
}

// Adds a line for each contender that connects through a layer such as TLS. The line says what was negotiated with the
// server, and how long the handshakes took.
void add_handshakes(std::string& out, const DuelRecord& record) {
  bool begun = false;
  for (size_t i = 0; i < record.sides.size(); ++i) {
    const DuelContender& contender = record.options.contenders[i];
    const std::optional<Handshakes>& handshakes = record.sides[i].handshakes;
    if (contender.layer_text.empty() || !handshakes) continue;
    out += fmt::format("{}{}: {}", std::exchange(begun, true) ? "" : "\n", contender.name, contender.layer_text);
    if (!handshakes->agreed.empty()) out += fmt::format("; {}", handshakes->agreed);
    if (handshakes->done() > 0) {
      const auto time = [&handshakes](double percent) {
        return human_time(static_cast<double>(handshakes->times.value_at_percentile(percent)));
      };
      out += fmt::format("; {} full and {} resumed handshakes, p50 {}, p99 {}", human_count(handshakes->full()),
                         human_count(handshakes->resumed), time(50), time(99));
    }
    out += '\n';
  }
}

void add_pair(std::string& out, const DuelRecord& record, const DuelPair& pair) {
  const DuelContender& subject = record.options.contenders[pair.subject];
  out += fmt::format("  {:<{}}  {:<26}{}", subject.name, name_columns(record.options), ratio_text(pair.estimate),
                     subject.twin_of ? "the same again (A/A): " : "");
  out += fmt::format("{}{}\n", word_of(pair.metric, pair.verdict), pair.why.empty() ? "" : ": " + pair.why);
}

void add_pairs(std::string& out, const DuelRecord& record, const DuelJudgement& judgement) {
  for (const DuelMetric metric : kDuelMetrics) {
    bool begun = false;
    for (const std::vector<DuelPair>& pairs : {std::cref(judgement.pairs), std::cref(judgement.twins)}) {
      for (const DuelPair& pair : pairs) {
        if (pair.metric != metric) continue;
        if (!std::exchange(begun, true)) {
          out += fmt::format("\n{}, against {}\n", title_of(metric), record.options.contenders.front().name);
        }
        add_pair(out, record, pair);
      }
    }
  }
}

void add_claims(std::string& out, const DuelJudgement& judgement) {
  if (!judgement.claims.empty()) out += "\nclaims\n";
  for (const DuelPair& pair : judgement.claims) {
    out += fmt::format("  {:<13}{}: {}{}\n", to_string(pair.verdict), pair.claim->text, ratio_text(pair.estimate),
                       pair.why.empty() ? "" : "; " + pair.why);
  }
}

}  // namespace

std::string duel_text(const DuelRecord& record, const DuelJudgement& judgement) {
  std::string out;
  add_heading(out, record);
  add_figures(out, record, judgement);
  add_handshakes(out, record);
  add_pairs(out, record, judgement);
  add_claims(out, judgement);
  out += fmt::format("\nratios with their 95 % interval over {}\n", counted(record.restarts, "restart"));
  if (!record.options.restart_all()) {
    out +=
        "servers that were already running were not restarted: their verdicts are about these processes, "
        "not about their programs\n";
  }
  for (const DuelGate& gate : judgement.gates) {
    out += fmt::format("{} {}\n", gate.invalid ? "INVALID" : "NOISY", gate.sentence);
  }
  // The text may contain output of a server. printable() escapes control characters, which could disturb the terminal.
  return printable(out, PrintableAs::kLines);
}

std::string duel_line(const DuelProgress& progress, size_t columns) {
  const DuelRecord& record = progress.record;
  const DuelOptions& options = record.options;
  std::string line =
      fmt::format("restart {} of {}, round {} of {}, {} of {}", record.restarts + 1, progress.restarts_wanted,
                  progress.rounds, options.rounds, seconds_text(progress.elapsed), seconds_text(options.budget));
  for (const DeclaredPair& pair : declared_pairs(options)) {
    if (record.restarts == 0) break;
    const RatioEstimate estimate(restart_logs(record, pair.metric, pair.subject, pair.rival));
    line += fmt::format(" | {}/{} ", options.contenders[pair.subject].name, options.contenders[pair.rival].name);
    line += estimate.restarts() == 0 ? "-" : fmt::format("{:.3f}", estimate.ratio());
    if (estimate.known()) line += fmt::format(" +-{:.1f} %", 100 * estimate.margin());
  }
  return line.substr(0, columns);
}

}  // namespace peal::load
