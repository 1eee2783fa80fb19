// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_json.h>

#include <cmath>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include <load/record/histogram_codec.h>
#include <peal/base/clock.h>

namespace peal::load {
namespace {

using DuelJson = nlohmann::ordered_json;

// Returns a JSON number, or null for NaN and infinity, which JSON cannot represent.
DuelJson number(double value) { return std::isfinite(value) ? DuelJson(value) : DuelJson(nullptr); }

DuelJson number(const std::optional<double>& value) { return value ? number(*value) : DuelJson(nullptr); }

DuelJson host_json(const std::optional<ServerHost>& host) {
  if (!host) return nullptr;
  return {{"name", host->name},
          {"address", host->address},
          {"kernel", host->kernel},
          {"processor", host->processor},
          {"cpus", host->cpus},
          {"is_here", host->is_here},
          {"elapsed_s", in_seconds(host->elapsed)},
          {"stolen_s", in_seconds(host->stolen)},
          {"foreign_s", in_seconds(host->foreign)}};
}

DuelJson asked(const DuelRecord& record) {
  const DuelOptions& options = record.options;
  return {{"schema", 1},
          {"tool", "peal load duel"},
          {"experiment", record.experiment},
          {"request", record.request},
          {"schedule", record.schedule},
          {"connections", options.load.connections},
          {"idle_connections", options.load.idle_connections},
          {"threads", options.load.threads},
          {"server_threads", options.server_threads},
          {"pipeline", options.load.pipeline},
          {"engine", record.engine},
          {"in_turn", options.in_turn},
          {"slice_s", in_seconds(options.slice)},
          {"rounds", options.rounds},
          {"precision", options.precision},
          {"budget_s", in_seconds(options.budget)},
          {"seed", options.load.seed},
          {"server_cpus", record.server_cpus},
          {"client_cpus", record.client_cpus},
          {"server_host", host_json(record.server_host)},
          {"restarts", record.restarts},
          {"elapsed_s", in_seconds(record.elapsed)},
          {"interrupted", record.interrupted}};
}

// Returns the percentiles and the maximum of a histogram in nanoseconds, the number of its values, and the encoded
// histogram itself.
DuelJson times_json(const Histogram& times) {
  return {{"p50", times.value_at_percentile(50)},
          {"p90", times.value_at_percentile(90)},
          {"p99", times.value_at_percentile(99)},
          {"p999", times.value_at_percentile(99.9)},
          {"max", times.max()},
          {"count", times.total_count()},
          {"hdr", encode_histogram(times)}};
}

DuelJson contender_json(const DuelRecord& record, const DuelJudgement& judgement, size_t at) {
  const DuelContender& contender = record.options.contenders[at];
  const DuelSideRecord& side = record.sides[at];
  const DuelFigures& figures = judgement.figures[at];
  DuelJson json{{"name", contender.name}};
  if (contender.restarts()) {
    json["command"] = contender.command;
  } else {
    json["target"] = contender.target_text;
    json["pid"] = contender.pid ? DuelJson(*contender.pid) : DuelJson(nullptr);
  }
  json["twin_of"] =
      contender.twin_of ? DuelJson(record.options.contenders[*contender.twin_of].name) : DuelJson(nullptr);
  json["server_cpu_ns"] = number(figures.server_cpu_ns);
  json["client_cpu_ns"] = number(figures.client_cpu_ns);
  json["messages_per_s"] = number(figures.messages_per_s);
  json["server_share"] = number(figures.server_share);
  json["client_share"] = number(figures.client_share);
  json["bounded"] = figures.bounded;
  json["messages"] = side.counts.messages;
  json["rss_bytes"] = side.rss_bytes;
  json["rss_by_restart"] = side.rss_by_restart;
  json["rss_start_by_restart"] = side.rss_start_by_restart;
  json["served_by_restart"] = side.served_by_restart;
  for (const DuelPercentiles& latency : side.latency_by_restart) {
    json["p50_by_restart"].push_back(latency.p50_ns);
    json["p99_by_restart"].push_back(latency.p99_ns);
    if (record.options.in_turn) json["hdr_by_restart"].push_back(latency.hdr);
  }
  json["fault"] = side.fault;
  json["mean_read_bytes"] =
      side.counts.reads > 0 ? DuelJson(side.counts.bytes_received / side.counts.reads) : DuelJson(nullptr);
  json["processes"] = side.processes;
  json["latency"] = times_json(side.latency);
  json["connect"] = times_json(side.connect);
  if (!contender.layer_text.empty()) json["layer"] = contender.layer_text;
  if (side.handshakes) {
    json["handshake"] = times_json(side.handshakes->times);
    json["handshakes"] = {{"done", side.handshakes->done()},
                          {"full", side.handshakes->full()},
                          {"resumed", side.handshakes->resumed},
                          {"failed", side.handshakes->failed},
                          {"agreed", side.handshakes->agreed}};
  }
  for (const auto& [kind, failure] : side.failures.kinds) {
    json["failures"][kind] = {{"count", failure.count}, {"first", failure.first}};
  }
  return json;
}

DuelJson estimate_json(const RatioEstimate& estimate) {
  const bool known = estimate.known();
  return {{"ratio", number(estimate.ratio())},
          {"low", known ? number(estimate.low()) : DuelJson(nullptr)},
          {"high", known ? number(estimate.high()) : DuelJson(nullptr)},
          {"restarts", estimate.restarts()}};
}

DuelJson pair_json(const DuelRecord& record, const DuelPair& pair) {
  const std::vector<DuelContender>& contenders = record.options.contenders;
  DuelJson json = DuelJson::object();
  if (pair.claim) json["text"] = pair.claim->text;
  json["metric"] = to_string(pair.metric);
  json["subject"] = contenders[pair.subject].name;
  json["rival"] = contenders[pair.rival].name;
  if (pair.claim) {
    json["side"] = pair.claim->bar.side == Bar::Side::kAtMost ? "<=" : ">=";
    json["bar"] = pair.claim->bar.ratio;
  }
  json.update(estimate_json(pair.estimate));
  json["p"] = number(pair.estimate.p(pair.claim ? pair.claim->bar.ratio : 1));
  json["p_adjusted"] = number(pair.adjusted_p);
  json["verdict"] = to_string(pair.verdict);
  json["why"] = pair.why;
  json["about"] = pair.of_processes ? "processes" : "programs";
  if (pair.claim) return json;
  json["logs"] = DuelJson::array();
  for (const double log : pair.logs) json["logs"].push_back(number(log));
  return json;
}

// Returns the measurements of one slice as a JSON array. The array "slice_columns" of the document names these values,
// in the same order. The server's CPU time and context switches are null if they are not known, or if much of the CPU
// time may be missing.
DuelJson slice_json(const SliceRecord& slice, const DuelFigures& figures) {
  const bool knows_cpu = slice.server_cpu && figures.server_cpu_ns;
  return DuelJson::array({slice.restart, slice.round, slice.place, slice.contender, slice.messages, slice.seconds(),
                          knows_cpu ? DuelJson(slice.server_cpu->count()) : DuelJson(nullptr),
                          (slice.client_cpu - slice.spin).count(), slice.p50_ns, slice.p99_ns,
                          knows_cpu && slice.server_switches ? DuelJson(*slice.server_switches) : DuelJson(nullptr)});
}

}  // namespace

std::string duel_json(const DuelRecord& record, const DuelJudgement& judgement) {
  DuelJson json = asked(record);
  for (size_t i = 0; i < record.sides.size(); ++i) json["contenders"].push_back(contender_json(record, judgement, i));
  for (const auto& [name, pairs] :
       {std::pair("pairs", &judgement.pairs), {"twins", &judgement.twins}, {"claims", &judgement.claims}}) {
    json[name] = DuelJson::array();
    for (const DuelPair& pair : *pairs) json[name].push_back(pair_json(record, pair));
  }
  json["gates"] = DuelJson::array();
  for (const DuelGate& gate : judgement.gates) {
    json["gates"].push_back({{"verdict", gate.invalid ? "INVALID" : "NOISY"}, {"sentence", gate.sentence}});
  }
  json["slice_columns"] = {"restart",       "round",         "place",  "contender", "messages",       "seconds",
                           "server_cpu_ns", "client_cpu_ns", "p50_ns", "p99_ns",    "server_switches"};
  json["slices"] = DuelJson::array();
  for (const SliceRecord& slice : record.slices)
    json["slices"].push_back(slice_json(slice, judgement.figures[slice.contender]));
  return json.dump(-1, ' ', false, DuelJson::error_handler_t::replace) + "\n";
}

}  // namespace peal::load
