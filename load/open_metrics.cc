// SPDX-License-Identifier: BSD-3-Clause
#include <load/open_metrics.h>

#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace peal::load {
namespace {

// OpenMetrics 1.0, "escaped-string".
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') result += '\\';
    result += c;
  }
  return result;
}

class Writer {
 public:
  explicit Writer(const RunRecord& record)
      : labels_(fmt::format("experiment=\"{}\",target=\"{}\"", escaped(record.experiment),
                            escaped(record.options.target_text))) {}

  // A family's name ends with its unit; a counter's samples have "_total" behind that.
  void family(std::string_view name, std::string_view type, std::string_view unit, std::string_view help) {
    name_ = fmt::format("peal_load_{}", name);
    put("# TYPE {} {}\n", name_, type);
    if (!unit.empty()) put("# UNIT {} {}\n", name_, unit);
    put("# HELP {} {}\n", name_, help);
  }
  void sample(std::string_view suffix, double value, std::string_view more_labels = {}) {
    put("{}{}{{{}{}{}}} {}\n", name_, suffix, labels_, more_labels.empty() ? "" : ",", more_labels, value);
  }
  void counter(std::string_view name, std::string_view unit, std::string_view help, double value) {
    family(name, "counter", unit, help);
    sample("_total", value);
  }
  void gauge(std::string_view name, std::string_view unit, std::string_view help, double value) {
    family(name, "gauge", unit, help);
    sample("", value);
  }
  void times(std::string_view name, std::string_view help, const Histogram& histogram) {
    family(fmt::format("{}_seconds", name), "summary", "seconds", help);
    for (const double percent : {50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0}) {
      if (histogram.empty()) break;
      sample("", static_cast<double>(histogram.value_at_percentile(percent)) * 1e-9,
             fmt::format("quantile=\"{:.6g}\"", percent / 100));
    }
    const auto count = static_cast<double>(histogram.total_count());
    sample("_count", count);
    sample("_sum", histogram.mean() * count * 1e-9);
  }
  std::string finish() { return text_ + "# EOF\n"; }

 private:
  template <class... Values>
  void put(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  const std::string labels_;
  std::string name_;
  std::string text_;
};

void add_counts(Writer& out, const Outcome& outcome) {
  const Counts& counts = outcome.total.counts;
  const auto value = [](uint64_t count) { return static_cast<double>(count); };
  out.counter("messages", "", "Messages that came back as they should.", value(counts.messages));
  out.counter("wrong_answers", "", "Answers that were not what was asked for.", value(counts.wrong));
  out.counter("shed_messages", "", "Messages not sent, because their deadline had passed.", value(counts.shed));
  out.counter("unsent_messages", "", "Messages due at the end, but not sent.", value(outcome.unsent));
  out.counter("unanswered_messages", "", "Messages sent at the end, but not answered.", value(outcome.unanswered));
  out.counter("received_bytes", "bytes", "Bytes that came back.", value(counts.bytes_received));
  out.counter("sent_bytes", "bytes", "Bytes that were sent.", value(counts.bytes_sent));
  const Counts& all = outcome.lifetime;
  out.counter("connection_attempts", "", "Connections tried, warm-up included.", value(all.attempts));
  out.counter("connects", "", "Connections that opened, warm-up included.", value(all.connects));
  out.counter("retired_connections", "", "Connections closed as planned, warm-up included.", value(all.retired));
  out.family("failures", "counter", "", "What went wrong, by kind, warm-up included.");
  for (const auto& [kind, failure] : outcome.failures.kinds) {
    out.sample("_total", value(failure.count), fmt::format("kind=\"{}\"", escaped(kind)));
  }
}

void add_costs(Writer& out, const RunRecord& record) {
  const Outcome& outcome = record.outcome;
  out.counter("client_cpu_seconds", "seconds", "CPU time of the generator, without its spinning.",
              in_seconds(outcome.client_work()));
  if (!outcome.server) return;
  const ServerUse& server = *outcome.server;
  if (server.cpu) {
    out.counter("server_cpu_seconds", "seconds", "CPU time of the server and its descendants.",
                in_seconds(*server.cpu));
  }
  out.gauge("server_resident_bytes", "bytes", "Memory of the server at the end.",
            static_cast<double>(server.rss_bytes));
  out.gauge("server_processes", "", "Processes of the server at the end.", static_cast<double>(server.processes));
  out.counter("server_context_switches", "", "Context switches of the server, of both kinds.",
              static_cast<double>(server.voluntary_switches + server.involuntary_switches));
}

}  // namespace

std::string open_metrics(const RunRecord& record) {
  const Outcome& outcome = record.outcome;
  Writer out(record);
  out.gauge("began_timestamp_seconds", "seconds", "When the measurement began.",
            std::chrono::duration<double>(outcome.began.time_since_epoch()).count());
  out.gauge("window_seconds", "seconds", "How long was measured.", outcome.seconds());
  out.gauge("connections", "", "Connections that opened.", static_cast<double>(outcome.opened));
  out.gauge("offered_rate", "", "Messages due a second; 0 in a closed loop.", record.offered_rate());
  add_counts(out, outcome);
  add_costs(out, record);
  out.times("latency", "From when a message was due until it was answered.", outcome.total.latency);
  if (outcome.total.service) out.times("service", "From when it was sent until then.", *outcome.total.service);
  if (outcome.total.send_lag) out.times("send_lag", "From when it was due until it was sent.", *outcome.total.send_lag);
  if (outcome.total.first_byte) {
    out.times("first_byte", "From when it was sent until its answer began.", *outcome.total.first_byte);
  }
  out.times("connect", "From trying to connect until that was done.", outcome.connect);
  out.family("failed_gate", "gauge", "", "1 for each gate the run failed.");
  for (const Gate& gate : record.gates) {
    out.sample("", 1, fmt::format("gate=\"{}\",verdict=\"{}\"", escaped(gate.name), to_string(gate.verdict)));
  }
  return out.finish();
}

}  // namespace peal::load
