// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/report_text.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace peal::load {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 6> kColumns{
    {{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}}};

double fraction(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void add_times(std::string& out, std::string_view name, const Histogram& times) {
  if (times.empty()) return;
  out += fmt::format("{:<12}", name);
  for (const auto& [label, percent] : kColumns) out += fmt::format("{:>11}", shown_percentile(times, percent));
  out += fmt::format("{:>11}\n", human_time(static_cast<double>(times.max())));
}

void add_table(std::string& out, const Outcome& outcome) {
  const Recording& total = outcome.total;
  if (total.latency.empty()) {
    out += fmt::format("{:<12}{}\n", "latency",
                       outcome.lifetime.wrong > 0 ? "no answer was right" : "no message came back");
  } else {
    out += fmt::format("{:<12}", "");
    for (const auto& [label, percent] : kColumns) out += fmt::format("{:>11}", label);
    out += fmt::format("{:>11}\n", "max");
    add_times(out, "latency", total.latency);
    if (total.service) add_times(out, "service", *total.service);
    if (total.first_byte) add_times(out, "first byte", *total.first_byte);
    if (total.send_lag) add_times(out, "send lag", *total.send_lag);
  }
  add_times(out, "connect", outcome.connect);
  if (outcome.handshakes) add_times(out, "handshake", outcome.handshakes->times);
}

void add_heading(std::string& out, const RunRecord& record) {
  const LoadOptions& options = record.options;
  out += fmt::format("{} {}: {}, {}", record.experiment, options.target_text, record.request,
                     counted(options.threads, "thread"));
  out += use_of_connections(options);
  if (!options.layer_text.empty()) out += fmt::format(", {}", options.layer_text);
  out +=
      fmt::format(", {}, engine {}\n", options.closed_loop() ? "closed loop" : record.schedule, record.outcome.engine);
  if (!record.merged.empty()) out += fmt::format("{:<12}{}\n", "added up", fmt::join(record.merged, ", "));
}

void add_handshakes(std::string& out, const Handshakes& handshakes) {
  out += fmt::format("{:<12}{} done: {} full, {} resumed; {} failed{}\n", "handshakes", human_count(handshakes.done()),
                     human_count(handshakes.full()), human_count(handshakes.resumed), human_count(handshakes.failed),
                     handshakes.agreed.empty() ? "" : "; " + handshakes.agreed);
}

void add_statuses(std::string& out, const Outcome& outcome) {
  uint64_t answers = 0;
  for (const auto& [status, count] : outcome.statuses) answers += count;
  std::string_view heading = "status";
  for (const auto& [status, count] : outcome.statuses) {
    const double percent = 100 * fraction(count, answers);
    out += fmt::format("{:<12}{} {:>15} {:>9} %\n", std::exchange(heading, ""), status, human_count(count),
                       percent < 99 ? fmt::format("{:.2g}", percent) : fmt::format("{:.4g}", percent));
  }
}

void add_work(std::string& out, const RunRecord& record) {
  const LoadOptions& options = record.options;
  const Outcome& outcome = record.outcome;
  const Counts& all = outcome.lifetime;
  const Queued& queued = outcome.queued;
  const uint64_t not_failed = std::min(all.attempts, all.connects + all.under_way + queued.unopened);
  out += fmt::format("{:<12}{} asked, {} open, {} served; {}, {} opened, {} failed, {} retired", "connections",
                     human_count(options.connections), human_count(outcome.opened), human_count(outcome.served),
                     counted(all.attempts, "attempt"), human_count(all.connects),
                     human_count(all.attempts - not_failed), human_count(all.retired));
  if (all.under_way > 0) out += fmt::format(", {} under way at the end", human_count(all.under_way));
  out += '\n';
  if (all.idle_closes > 0) {
    out += fmt::format("{:<12}the server closed {} on which nothing was asked: opened again, no failure\n",
                       "idle closes", counted(all.idle_closes, "connection"));
  }
  if (outcome.handshakes) add_handshakes(out, *outcome.handshakes);
  if (options.expect_queueing) {
    out += fmt::format("{:<12}served {} of {}; {} waited for their turn when the run ended", "queueing",
                       human_count(outcome.served), human_count(options.connections), human_count(queued.connections));
    if (queued.unopened > 0) out += fmt::format(", {} of them not even open", human_count(queued.unopened));
    out += '\n';
  }
  if (options.idle_connections > 0) {
    out += fmt::format("{:<12}{} asked, {} open at the end\n", "idle", human_count(options.idle_connections),
                       human_count(outcome.idle_open));
  }
  out += fmt::format("{:<12}{} in {:.3f} s: {}/s, {:.2f} MiB/s", "messages", human_count(outcome.total.counts.messages),
                     outcome.seconds(), human_rate(outcome.messages_per_s()), outcome.mib_per_s());
  if (all.wrong > 0) out += fmt::format("; {} wrong", human_count(all.wrong));
  out += '\n';
  add_statuses(out, outcome);
  if (options.closed_loop()) return;
  out += fmt::format("{:<12}{}/s offered; {} shed; at the end {} due but unsent, {} sent but unanswered\n", "schedule",
                     human_rate(record.offered_rate()), human_count(outcome.total.counts.shed),
                     human_count(outcome.unsent), human_count(outcome.unanswered));
}

void add_client(std::string& out, const LoadOptions& options, const Outcome& outcome) {
  out += fmt::format("{:<12}{} CPU a message, {:.0f} % of {}", "client", human_time(outcome.client_ns_per_message()),
                     100 * outcome.client_share(options), options.threads == 1 ? "a core" : "its cores");
  if (outcome.total.spin > Duration::zero()) {
    out += fmt::format(" (and {} of spinning, to send in time)", human_time(outcome.total.spin));
  }
  out += '\n';
}

void add_server(std::string& out, const LoadOptions& options, const Outcome& outcome) {
  if (!outcome.server) return;
  const ServerUse& server = *outcome.server;
  const uint64_t messages = outcome.total.counts.messages;
  const std::string cpu = server.cpu ? human_time(outcome.server_ns_per_message()) : "unknown";
  out += fmt::format(
      "{:<12}{} CPU a message, {:.0f} % of a core, {:.1f} MiB resident, {:.3g} + {:.3g} context "
      "switches a message, {}\n",
      "server", cpu, 100 * outcome.server_share(options) * static_cast<double>(options.threads),
      static_cast<double>(server.rss_bytes) / (1 << 20), fraction(server.voluntary_switches, messages),
      fraction(server.involuntary_switches, messages),
      server.processes == 1 ? "1 process" : fmt::format("{} processes", server.processes));
  if (server.forgets_children) {
    out += fmt::format("{:<12}it ignores SIGCHLD: what its ended children used is not in its figures\n", "");
  }
}

// Adds a line for each kind of failure. The line has a count and a percentage. For failures to connect and failed
// handshakes, 100 % is the number of attempts to connect. For all other failures, 100 % is the number of messages that
// were answered or failed.
void add_failures(std::string& out, const Outcome& outcome, Paint paint) {
  const Counts& all = outcome.lifetime;
  uint64_t failed_messages = 0;
  const auto of_connecting = [](const std::string& kind) {
    return kind.starts_with("connect_") || kind.starts_with("handshake_");
  };
  for (const auto& [kind, failure] : outcome.failures.kinds) failed_messages += of_connecting(kind) ? 0 : failure.count;
  for (const auto& [kind, failure] : outcome.failures.kinds) {
    const uint64_t whole = of_connecting(kind) ? all.attempts : all.messages + failed_messages;
    const double percent = 100 * fraction(failure.count, whole);
    out += fmt::format("{}{} {} ({} % of the {}): {}\n", paint.bad(fmt::format("{:<12}", "failed")),
                       human_count(failure.count), kind,
                       percent < 99 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent),
                       of_connecting(kind) ? "attempts to connect" : "messages", failure.first);
  }
}

}  // namespace

bool is_known(const Histogram& times, double percent) {
  // The product below is the number of samples above the percentile. The percentile is known if this number is at least
  // 10 (kSamplesAbove). A double cannot hold a number such as 99.9 exactly. With 10,000 samples and 99.9 %, the product
  // is therefore slightly less than the true number 10. So the product is compared with a limit that is slightly less
  // than kSamplesAbove.
  constexpr double kRounding = 1e-6;
  return static_cast<double>(times.total_count()) * (100 - percent) / 100 >= kSamplesAbove - kRounding;
}

std::string report_text(const RunRecord& record, Paint paint) {
  std::string out;
  add_heading(out, record);
  add_work(out, record);
  add_table(out, record.outcome);
  add_client(out, record.options, record.outcome);
  add_server(out, record.options, record.outcome);
  add_failures(out, record.outcome, paint);
  for (const SkippedGate& gate : record.skipped) out += fmt::format("{:<12}{}\n", "not judged", gate.sentence);
  for (const Gate& gate : record.gates) {
    const std::string verdict = fmt::format("{:<12}", to_string(gate.verdict));
    out += (gate.verdict == Verdict::kInvalid ? paint.bad(verdict) : paint.warning(verdict)) + gate.sentence + '\n';
  }
  if (record.gates.empty()) out += fmt::format("{:<12}{}\n", "gates", paint.good("all passed"));
  return out;
}

std::string human_rate(double rate) { return human_count(static_cast<uint64_t>(std::llround(rate))); }

std::string human_time(double ns) {
  static constexpr std::array<std::pair<double, std::string_view>, 4> kUnits{
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  for (const auto& [factor, unit] : kUnits) {
    // If the value is too small for this unit, the next smaller unit is used. The limit is 0.9995 of the unit. With a
    // limit of 1, 999.7 ns would be shown as "1000 ns" and not as "1.00 us".
    if (ns < factor * 0.9995 && factor > 1) continue;
    const double value = ns / factor;
    const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, factor > 1 ? digits : 0, unit);
  }
  return {};
}

std::string human_count(uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", human_count(count), noun, count == 1 ? "" : "s");
}

std::string shown_percentile(const Histogram& times, double percent) {
  const std::string text = human_time(static_cast<double>(times.value_at_percentile(percent)));
  return is_known(times, percent) ? text : fmt::format("({})", text);
}

std::string use_of_connections(const LoadOptions& options) {
  std::string text;
  if (options.pipeline > 1) text += fmt::format(", {} in flight a connection", options.pipeline);
  if (const RequestRange& range = options.requests_per_connection; !range.endless()) {
    text += fmt::format(", {} a connection", range.least == range.most
                                                 ? counted(range.least, "request")
                                                 : fmt::format("{} to {} requests", range.least, range.most));
  }
  return text;
}

}  // namespace peal::load
