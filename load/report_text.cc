// SPDX-License-Identifier: BSD-3-Clause
#include <load/report_text.h>

#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace peal::load {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string human_rate(double rate) { return human_count(static_cast<uint64_t>(std::llround(rate))); }

void add_times(Out out, std::string_view name, const Histogram& times) {
  static constexpr std::array<std::pair<std::string_view, double>, 5> kColumns{
      {{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"p99.9", 99.9}}};
  fmt::format_to(out, "{:<12}", name);
  if (times.empty()) {
    fmt::format_to(out, "no message came back\n");
    return;
  }
  for (const auto& [label, percent] : kColumns) {
    fmt::format_to(out, "{} {}  ", label, human_time(static_cast<double>(times.value_at_percentile(percent))));
  }
  fmt::format_to(out, "max {}\n", human_time(static_cast<double>(times.max())));
}

void add_work(Out out, const LoadOptions& options, const Outcome& outcome) {
  const Counts& counts = outcome.total.counts;
  fmt::format_to(out, "{:<12}{} asked, {} open, {} served\n", "connections", human_count(options.connections),
                 human_count(outcome.opened), human_count(outcome.served));
  fmt::format_to(out, "{:<12}{} in {:.3f} s: {}/s, {:.2f} MiB/s\n", "messages", human_count(counts.messages),
                 outcome.seconds(), human_rate(outcome.messages_per_s()), outcome.mib_per_s());
  if (options.closed_loop()) return;
  fmt::format_to(out, "{:<12}{}/s offered; at the end {} due but unsent, {} sent but unanswered\n", "schedule",
                 human_rate(options.rate), human_count(outcome.unsent), human_count(outcome.unanswered));
}

void add_costs(Out out, const LoadOptions& options, const Outcome& outcome) {
  fmt::format_to(out, "{:<12}{} CPU a message, {:.0f} % of {}", "client", human_time(outcome.client_ns_per_message()),
                 100 * outcome.client_share(options), options.threads == 1 ? "a core" : "its cores");
  if (outcome.total.spin > Duration::zero()) {
    fmt::format_to(out, " (and {} of spinning, to send in time)",
                   human_time(static_cast<double>(outcome.total.spin.count())));
  }
  *out++ = '\n';
  if (!outcome.server) return;
  const ServerUse& server = *outcome.server;
  const std::string cpu = server.cpu ? human_time(outcome.server_ns_per_message()) : "unknown";
  fmt::format_to(out, "{:<12}{} CPU a message, {:.0f} % of {}, {:.1f} MiB resident, {} + {} context switches\n",
                 "server", cpu, 100 * outcome.server_share(options) * static_cast<double>(options.threads), "a core",
                 static_cast<double>(server.rss_bytes) / (1 << 20), human_count(server.voluntary_switches),
                 human_count(server.involuntary_switches));
}

}  // namespace

std::string report_text(std::string_view experiment, const LoadOptions& options, const Outcome& outcome,
                        const std::vector<Gate>& gates) {
  std::string text;
  Out out(text);
  fmt::format_to(out, "{} {}: {} bytes, {} thread{}, {}, engine {}\n", experiment, options.target_text, options.size,
                 options.threads, options.threads == 1 ? "" : "s", options.closed_loop() ? "closed loop" : "fixed rate",
                 outcome.engine);
  add_work(out, options, outcome);
  add_times(out, "latency", outcome.total.latency);
  if (outcome.total.service) {
    add_times(out, "service", *outcome.total.service);
    add_times(out, "send lag", *outcome.total.send_lag);
  }
  add_costs(out, options, outcome);
  for (const Gate& gate : gates) fmt::format_to(out, "{:<12}{}\n", to_string(gate.verdict), gate.sentence);
  if (gates.empty()) fmt::format_to(out, "{:<12}all passed\n", "gates");
  return text;
}

std::string live_line(const LoadOptions& options, const Progress& progress) {
  return fmt::format("{:.1f}/{:.0f} s  {}/s  in flight {}  open {}  p50 {}  p99 {}  errors {}",
                     std::chrono::duration<double>(progress.elapsed).count(),
                     std::chrono::duration<double>(options.duration).count(), human_rate(progress.messages_per_s),
                     progress.in_flight, progress.open, human_time(static_cast<double>(progress.p50_ns)),
                     human_time(static_cast<double>(progress.p99_ns)), progress.failures);
}

std::string human_time(double ns) {
  static constexpr std::array<std::pair<double, std::string_view>, 4> kUnits{
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  for (const auto& [factor, unit] : kUnits) {
    // What would round up to 1000 of the smaller unit belongs to this one.
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

}  // namespace peal::load
