// SPDX-License-Identifier: BSD-3-Clause
#include <load/report_json.h>

#include <nlohmann/json.hpp>

#include <peal/base/histogram_codec.h>

namespace peal::load {
namespace {

using Json = nlohmann::ordered_json;

Json histogram_json(const Histogram& histogram) {
  return {{"p50", histogram.value_at_percentile(50)},
          {"p90", histogram.value_at_percentile(90)},
          {"p95", histogram.value_at_percentile(95)},
          {"p99", histogram.value_at_percentile(99)},
          {"p999", histogram.value_at_percentile(99.9)},
          {"max", histogram.max()},
          {"mean", histogram.mean()},
          {"count", histogram.total_count()},
          {"clamped", histogram.clamped_count()},
          {"hdr", encode_histogram(histogram)}};
}

Json counts_json(const Outcome& outcome) {
  const Counts& counts = outcome.total.counts;
  return {{"seconds", outcome.seconds()},
          {"messages", counts.messages},
          {"reads", counts.reads},
          {"bytes_received", counts.bytes_received},
          {"bytes_sent", counts.bytes_sent},
          {"mib_per_s", outcome.mib_per_s()},
          {"messages_per_s", outcome.messages_per_s()}};
}

Json server_json(const Outcome& outcome) {
  if (!outcome.server) return nullptr;
  const ServerUse& server = *outcome.server;
  Json json{{"cpu_ns", nullptr},
            {"cpu_ns_per_message", nullptr},
            {"rss_bytes", server.rss_bytes},
            {"voluntary_switches", server.voluntary_switches},
            {"involuntary_switches", server.involuntary_switches}};
  if (server.cpu) {
    json["cpu_ns"] = server.cpu->count();
    json["cpu_ns_per_message"] = outcome.server_ns_per_message();
  }
  return json;
}

}  // namespace

std::string report_json(std::string_view experiment, const LoadOptions& options, const Outcome& outcome,
                        const std::vector<Gate>& gates) {
  Json json{{"schema", 1},
            {"tool", "peal load"},
            {"experiment", experiment},
            {"target", options.target_text},
            {"engine", outcome.engine},
            {"size", options.size},
            {"threads", options.threads},
            {"connections",
             {{"asked", options.connections},
              {"open", outcome.opened},
              {"failed", options.connections - outcome.opened},
              {"served", outcome.served}}},
            {"mode", options.closed_loop() ? "closed" : "rate"},
            {"offered_rate", options.rate}};
  json.update(counts_json(outcome));
  json["lifetime"] = {{"messages", outcome.lifetime.messages},
                      {"bytes_received", outcome.lifetime.bytes_received},
                      {"bytes_sent", outcome.lifetime.bytes_sent}};
  json["latency_ns"] = histogram_json(outcome.total.latency);
  json["service_ns"] = outcome.total.service ? histogram_json(*outcome.total.service) : Json(nullptr);
  json["send_lag_ns"] = outcome.total.send_lag ? histogram_json(*outcome.total.send_lag) : Json(nullptr);
  json["client"] = {{"cpu_ns", outcome.total.cpu.count()},
                    {"cpu_ns_per_message", outcome.client_ns_per_message()},
                    {"spin_ns", outcome.total.spin.count()},
                    {"cpu_share", outcome.client_share(options)}};
  json["server"] = server_json(outcome);
  json["gates"] = Json::array();
  for (const Gate& gate : gates) {
    json["gates"].push_back({{"name", gate.name}, {"verdict", to_string(gate.verdict)}, {"sentence", gate.sentence}});
  }
  json["errors"] = Json::object();
  json["first_errors"] = Json::object();
  for (const auto& [kind, failure] : outcome.failures.kinds) {
    json["errors"][kind] = failure.count;
    json["first_errors"][kind] = failure.first;
  }
  json["censored"] = {{"unsent", outcome.unsent}, {"unanswered", outcome.unanswered}};
  json["came_back"] = outcome.came_back;
  json["interrupted"] = outcome.interrupted;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace peal::load
