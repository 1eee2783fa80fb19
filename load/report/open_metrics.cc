// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/open_metrics.h>

#include <string>
#include <string_view>
#include <utility>

#include <peal/wire/metrics_text.h>

namespace peal::load {
namespace {

constexpr std::pair<double, std::string_view> kQuantiles[] = {
    {50, "0.5"}, {90, "0.9"}, {95, "0.95"}, {99, "0.99"}, {99.9, "0.999"}, {99.99, "0.9999"}, {100, "1"}};

void add_times(MetricsText& out, std::string_view name, std::string_view help, const Histogram& histogram) {
  out.family(name, MetricType::kSummary, "seconds", help);
  for (const auto& [percent, quantile] : kQuantiles) {
    if (histogram.empty()) break;
    out.sample("", static_cast<double>(histogram.value_at_percentile(percent)) * 1e-9, {{"quantile", quantile}});
  }
  const auto count = static_cast<double>(histogram.total_count());
  out.sample("_count", count);
  out.sample("_sum", histogram.mean() * count * 1e-9);
}

void add_counts(MetricsText& out, const Outcome& outcome) {
  const Counts& counts = outcome.total.counts;
  const auto value = [](uint64_t count) { return static_cast<double>(count); };
  out.counter("messages", "", "Messages that came back as they should.", value(counts.messages));
  out.counter("wrong_answers", "", "Answers that were not what was asked for.", value(counts.wrong));
  out.counter("shed_messages", "", "Messages not sent, because their deadline had passed.", value(counts.shed));
  out.counter("unsent_messages", "", "Messages that were due, but not sent at the end.", value(outcome.unsent));
  out.counter("unanswered_messages", "", "Messages that were sent, but not answered at the end.",
              value(outcome.unanswered));
  out.counter("received_bytes", "bytes", "Bytes that came back.", value(counts.bytes_received));
  out.counter("sent_bytes", "bytes", "Bytes that were sent.", value(counts.bytes_sent));
  const Counts& all = outcome.lifetime;
  out.counter("connection_attempts", "", "Connections tried, warm-up included.", value(all.attempts));
  out.counter("connects", "", "Connections that opened, warm-up included.", value(all.connects));
  out.counter("unfinished_connects", "", "Connection attempts that the end of the run cut off.", value(all.under_way));
  out.counter("retired_connections", "", "Connections closed after their requests or by the server, warm-up included.",
              value(all.retired));
  out.counter("idle_closes", "", "Retired connections that the server closed while nothing was asked on them.",
              value(all.idle_closes));
  if (const auto& handshakes = outcome.handshakes) {
    out.counter("handshakes", "", "Finished handshakes, warm-up included.", value(handshakes->done()));
    out.counter("resumed_handshakes", "", "Finished handshakes that resumed an earlier session, warm-up included.",
                value(handshakes->resumed));
    out.counter("failed_handshakes", "", "Handshakes that failed, warm-up included.", value(handshakes->failed));
  }
  if (!outcome.statuses.empty()) {
    out.family("answers", MetricType::kCounter, "", "Answers by their HTTP status, warm-up included.");
    for (const auto& [status, count] : outcome.statuses) {
      out.sample("_total", value(count), {{"status", std::to_string(status)}});
    }
  }
  out.family("failures", MetricType::kCounter, "", "Failures by kind, warm-up included.");
  for (const auto& [kind, failure] : outcome.failures.kinds) {
    out.sample("_total", value(failure.count), {{"kind", kind}});
  }
}

void add_costs(MetricsText& out, const RunRecord& record) {
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
  MetricsText out(MetricsFormat::kOpenMetrics, "peal_load_",
                  {{"experiment", record.experiment}, {"target", record.options.target_text}});
  out.gauge("began_timestamp_seconds", "seconds", "When the measurement began.",
            std::chrono::duration<double>(outcome.began.time_since_epoch()).count());
  out.gauge("window_seconds", "seconds", "Length of the measurement.", outcome.seconds());
  out.gauge("connections", "", "Connections that opened.", static_cast<double>(outcome.opened));
  out.gauge("offered_rate", "", "Messages due a second; 0 in a closed loop.", record.offered_rate());
  add_counts(out, outcome);
  add_costs(out, record);
  add_times(out, "latency_seconds", "From when a message was due until it was answered.", outcome.total.latency);
  if (outcome.total.service)
    add_times(out, "service_seconds", "From when a message was sent until it was answered.", *outcome.total.service);
  if (outcome.total.send_lag)
    add_times(out, "send_lag_seconds", "From when a message was due until it was sent.", *outcome.total.send_lag);
  if (outcome.total.first_byte) {
    add_times(out, "first_byte_seconds", "From when a message was sent until its answer began.",
              *outcome.total.first_byte);
  }
  add_times(out, "connect_seconds", "From the attempt to connect until the TCP connection was open.", outcome.connect);
  if (outcome.handshakes) {
    add_times(out, "handshake_seconds", "From the open TCP connection until the layer's handshake was done.",
              outcome.handshakes->times);
  }
  out.family("failed_gate", MetricType::kGauge, "", "1 for each gate that the run failed.");
  for (const Gate& gate : record.gates) {
    out.sample("", 1, {{"gate", gate.name}, {"verdict", to_string(gate.verdict)}});
  }
  return std::move(out).finish();
}

}  // namespace peal::load
