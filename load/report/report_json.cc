// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/report_json.h>

#include <string>

#include <nlohmann/json.hpp>

#include <load/record/histogram_codec.h>

namespace peal::load {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Makes the JSON library replace bytes that are not UTF-8, because JSON must be UTF-8. The sentence about a failure may
// contain bytes that are not UTF-8, because some of its text comes from the server.
constexpr auto kReplace = OrderedJson::error_handler_t::replace;

OrderedJson histogram_json(const Histogram& histogram) {
  return {{"p50", histogram.value_at_percentile(50)},
          {"p90", histogram.value_at_percentile(90)},
          {"p95", histogram.value_at_percentile(95)},
          {"p99", histogram.value_at_percentile(99)},
          {"p999", histogram.value_at_percentile(99.9)},
          {"p9999", histogram.value_at_percentile(99.99)},
          {"max", histogram.max()},
          {"mean", histogram.mean()},
          {"count", histogram.total_count()},
          {"clamped", histogram.clamped_count()},
          {"hdr", encode_histogram(histogram)}};
}

OrderedJson histogram_json(const std::optional<Histogram>& histogram) {
  return histogram ? histogram_json(*histogram) : OrderedJson(nullptr);
}

OrderedJson counts_json(const Counts& counts) {
  OrderedJson json;
  for (const CountName& each : kCountNames) json[each.name] = counts.*each.count;
  return json;
}

double seconds_since_epoch(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

OrderedJson asked_json(const RunRecord& record) {
  const LoadOptions& options = record.options;
  OrderedJson json{{"schema", 1},
                   {"tool", "peal load"},
                   {"experiment", record.experiment},
                   {"request", record.request},
                   {"target", options.target_text},
                   {"engine", record.outcome.engine},
                   {"size", options.size},
                   {"threads", options.threads},
                   {"pipeline", options.pipeline},
                   {"requests_per_connection", nullptr},
                   {"duration_ns", options.duration.count()},
                   {"warm_up_ns", options.warm_up.count()},
                   {"interval_ns", options.interval.count()},
                   {"seed", options.seed},
                   {"spins", options.spin.mode != Spin::Mode::kOff},
                   {"mode", options.closed_loop() ? "closed" : "rate"},
                   {"arrivals", nullptr},
                   {"offered_rate", record.offered_rate()},
                   {"offered", record.outcome.offered},
                   {"began", seconds_since_epoch(record.outcome.began)}};
  if (!options.requests_per_connection.endless()) {
    json["requests_per_connection"] = {{"least", options.requests_per_connection.least},
                                       {"most", options.requests_per_connection.most}};
  }
  if (!options.closed_loop()) json["arrivals"] = record.schedule;
  if (options.expect_queueing) json["expects_queueing"] = true;
  if (!options.layer_text.empty()) json["layer"] = options.layer_text;
  if (!record.merged.empty()) json["merged"] = record.merged;
  return json;
}

OrderedJson connections_json(const LoadOptions& options, const Outcome& outcome) {
  return {{"asked", options.connections},
          {"open", outcome.opened},
          {"failed", options.connections - outcome.opened - outcome.queued.unopened},
          {"served", outcome.served},
          {"queued", outcome.queued.connections},
          {"queued_unopened", outcome.queued.unopened},
          {"idle_asked", options.idle_connections},
          {"idle_open", outcome.idle_open}};
}

OrderedJson handshakes_json(const Handshakes& handshakes) {
  return {{"done", handshakes.done()},
          {"full", handshakes.full()},
          {"resumed", handshakes.resumed},
          {"failed", handshakes.failed},
          {"agreed", handshakes.agreed}};
}

OrderedJson client_json(const LoadOptions& options, const Outcome& outcome) {
  return {{"cpu_ns", outcome.total.cpu.count()},
          {"cpu_ns_per_message", outcome.client_ns_per_message()},
          {"spin_ns", outcome.total.spin.count()},
          {"cpu_share", outcome.client_share(options)}};
}

OrderedJson server_json(const RunRecord& record) {
  if (!record.outcome.server) return nullptr;
  const ServerUse& server = *record.outcome.server;
  OrderedJson json{{"cpu_ns", nullptr},
                   {"cpu_ns_per_message", nullptr},
                   {"rss_bytes", server.rss_bytes},
                   {"voluntary_switches", server.voluntary_switches},
                   {"involuntary_switches", server.involuntary_switches},
                   {"processes", server.processes},
                   {"pid", record.options.server_pid.value_or(0)}};
  if (server.forgets_children) json["forgets_children"] = true;
  if (server.cpu) {
    json["cpu_ns"] = server.cpu->count();
    json["cpu_ns_per_message"] = record.outcome.server_ns_per_message();
  }
  return json;
}

OrderedJson interval_json(const Interval& interval) {
  OrderedJson json{{"from_ns", interval.from.count()}, {"to_ns", interval.to.count()}};
  json.update(counts_json(interval.counts));
  json.update({{"messages_per_s", interval.messages_per_s()},
               {"failures", interval.failures},
               {"in_flight", interval.in_flight},
               {"open", interval.open}});
  if (interval.percentiles_known) {
    for (const IntervalPercentile& each : kIntervalPercentiles) json[each.name] = interval.*each.value;
  }
  if (interval.latency) json["hdr"] = encode_histogram(*interval.latency);
  return json;
}

void add_verdicts(const RunRecord& record, OrderedJson& json) {
  json["gates"] = OrderedJson::array();
  for (const Gate& gate : record.gates) {
    json["gates"].push_back({{"name", gate.name}, {"verdict", to_string(gate.verdict)}, {"sentence", gate.sentence}});
  }
  json["skipped_gates"] = OrderedJson::array();
  for (const SkippedGate& gate : record.skipped) {
    json["skipped_gates"].push_back({{"name", gate.name}, {"sentence", gate.sentence}});
  }
  json["errors"] = OrderedJson::object();
  json["first_errors"] = OrderedJson::object();
  for (const auto& [kind, failure] : record.outcome.failures.kinds) {
    json["errors"][kind] = failure.count;
    json["first_errors"][kind] = failure.first;
  }
}

}  // namespace

std::string report_json(const RunRecord& record) {
  const Outcome& outcome = record.outcome;
  OrderedJson json = asked_json(record);
  json["connections"] = connections_json(record.options, outcome);
  json["seconds"] = outcome.seconds();
  json.update(counts_json(outcome.total.counts));
  json["mib_per_s"] = outcome.mib_per_s();
  json["messages_per_s"] = outcome.messages_per_s();
  json["lifetime"] = counts_json(outcome.lifetime);
  json["latency_ns"] = histogram_json(outcome.total.latency);
  json["service_ns"] = histogram_json(outcome.total.service);
  json["send_lag_ns"] = histogram_json(outcome.total.send_lag);
  json["first_byte_ns"] = histogram_json(outcome.total.first_byte);
  json["connect_ns"] = histogram_json(outcome.connect);
  if (outcome.handshakes) {
    json["handshake_ns"] = histogram_json(outcome.handshakes->times);
    json["handshakes"] = handshakes_json(*outcome.handshakes);
  }
  json["client"] = client_json(record.options, outcome);
  json["server"] = server_json(record);
  if (!outcome.statuses.empty()) {
    json["statuses"] = OrderedJson::object();
    for (const auto& [status, count] : outcome.statuses) json["statuses"][std::to_string(status)] = count;
  }
  add_verdicts(record, json);
  json["censored"] = {{"unsent", outcome.unsent}, {"unanswered", outcome.unanswered}};
  json["echoes"] = outcome.echoes;
  json["came_back"] = outcome.came_back;
  json["interrupted"] = outcome.interrupted;
  json["intervals"] = OrderedJson::array();
  for (const Interval& interval : outcome.intervals) json["intervals"].push_back(interval_json(interval));
  return json.dump(2, ' ', false, kReplace) + "\n";
}

std::string interval_line(const Interval& interval, const Outcome& so_far) {
  OrderedJson json{{"began", seconds_since_epoch(so_far.began)}};
  json.update(interval_json(interval));
  return json.dump(-1, ' ', false, kReplace) + "\n";
}

}  // namespace peal::load
