// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/snapshot_json.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <nlohmann/json.hpp>

#include <peal/engine/engines.h>
#include <peal/inspect/parts/built_in.h>
#include <peal/inspect/parts/call_stats.h>
#include <peal/inspect/parts/program_metrics.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

Json process_json(const Snapshot& snapshot) {
  const ProcessFacts& process = snapshot.process;
  Json json{{"pid", process.pid},
            {"parent", process.parent},
            {"name", process.name},
            {"command", process.command},
            {"up_seconds", std::max(0.0, unix_seconds(snapshot.taken) - unix_seconds(process.started))},
            {"user_cpu_seconds", in_seconds(process.user_cpu)},
            {"system_cpu_seconds", in_seconds(process.system_cpu)},
            {"resident_bytes", process.resident_bytes},
            {"peak_resident_bytes", process.peak_resident_bytes},
            {"virtual_bytes", process.virtual_bytes},
            {"minor_faults", process.minor_faults},
            {"major_faults", process.major_faults},
            {"threads", process.threads}};
  if (process.open_fds) json["open_fds"] = *process.open_fds;
  if (process.most_fds) json["most_fds"] = *process.most_fds;
  return json;
}

Json system_json(const Snapshot& snapshot) {
  const SystemFacts& system = snapshot.system;
  return {{"host", system.host},
          {"kernel", system.kernel},
          {"processors", system.processors},
          {"load_1min", system.load[0]},
          {"load_5min", system.load[1]},
          {"load_15min", system.load[2]},
          {"memory_bytes", system.memory_bytes},
          {"available_bytes", system.available_bytes},
          {"up_seconds", in_seconds(system.up)}};
}

// Returns a histogram as an array of pairs [upper end in seconds, count].
Json intervals(const Histogram& times) {
  Json pairs = Json::array();
  uint64_t below = 0;
  for (const int64_t limit_ns : kTimeLimitsNs) {
    const uint64_t up_to = times.count_at_or_below(limit_ns);
    pairs.push_back({static_cast<double>(limit_ns) / 1e9, up_to - below});
    below = up_to;
  }
  return pairs;
}

void add_turns(Json& json, const TurnTimes& times) {
  const Histogram& turns = times.turns();
  const Duration all = times.busy() + times.waiting();
  json["busy_share"] = all > Duration::zero() ? in_seconds(times.busy()) / in_seconds(all) : 0;
  json["busy_seconds"] = in_seconds(times.busy());
  json["waiting_seconds"] = in_seconds(times.waiting());
  json["turn_p50_seconds"] = seconds_at(turns, 50);
  json["turn_p99_seconds"] = seconds_at(turns, 99);
  json["turn_max_seconds"] = seconds_at(turns, 100);
  json["turn_histogram"] = intervals(turns);
}

Json loop_json(const LoopSnapshot& loop) {
  Json json{{"loop", loop.number},
            {"thread", loop.thread},
            {"thread_id", loop.thread_id},
            {"engine", loop.engine},
            {"state", loop.ended      ? "ended"
                      : loop.answered ? "answers"
                                      : "STALLED"},
            {"silent_seconds", in_seconds(loop.silent)},
            {"cpu_seconds", in_seconds(loop.cpu)}};
  if (loop.times) add_turns(json, *loop.times);
  json.update({{"turns", loop.stats.turns},
               {"events", loop.engine_stats.events},
               {"tasks", loop.stats.tasks},
               {"tasks_waiting", loop.tasks_waiting},
               {"timers", loop.timers},
               {"timers_fired", loop.stats.timers_fired},
               {"wakeups", loop.engine_stats.wakeups},
               {"spins", loop.stats.spins},
               {"spins_won", loop.stats.spins_won},
               {"exceptions", loop.stats.exceptions},
               {"stalls", loop.stats.stalls},
               {"longest_stall_seconds", in_seconds(loop.stats.longest_stall)},
               {"receives", loop.engine_stats.receives},
               {"received_bytes", loop.engine_stats.received_bytes},
               {"sends", loop.engine_stats.sends},
               {"short_sends", loop.engine_stats.short_sends},
               {"sent_bytes", loop.engine_stats.sent_bytes},
               {"accepts", loop.engine_stats.accepts},
               {"accepts_failed", loop.engine_stats.accepts_failed},
               {"accepts_shed", loop.engine_stats.accepts_shed},
               {"blocks_in_use", loop.blocks.blocks_in_use},
               {"blocks_free", loop.blocks.blocks_free},
               {"block_bytes_in_use", loop.blocks.bytes_in_use},
               {"recorder_events", loop.recorder_events}});
  return json;
}

void add_http(Json& json, const HttpStats& http) {
  json["requests"] = http.requests;
  for (size_t digit = 1; digit < http.answers.size(); ++digit) {
    json[fmt::format("answers_{}xx", digit)] = http.answers.at(digit);
  }
  json.update({{"pipelined", http.pipelined},
               {"malformed", http.malformed},
               {"tls_hellos", http.tls_hellos},
               {"too_large", http.too_large},
               {"unrouted", http.unrouted},
               {"head_timeouts", http.head_timeouts},
               {"body_timeouts", http.body_timeouts},
               {"answer_timeouts", http.answer_timeouts},
               {"idle_timeouts", http.idle_timeouts},
               {"send_timeouts", http.send_timeouts},
               {"abandoned", http.abandoned},
               {"handler_exceptions", http.exceptions},
               {"answered_again", http.answered_again},
               {"over_budget", http.over_budget},
               {"kept_bytes", http.kept_bytes},
               {"request_body_bytes", http.request_body_bytes},
               {"response_body_bytes", http.response_body_bytes}});
}

void add_layer(Json& json, const LayerStats& layer, std::chrono::system_clock::time_point now) {
  json.update({{"layer_handshakes", layer.handshakes},
               {"layer_resumed", layer.resumed},
               {"layer_failed", layer.failed},
               {"layer_in_the_clear", layer.in_the_clear},
               {"layer_under_way", layer.under_way},
               {"layer_reloads", layer.reloads},
               {"layer_reloads_failed", layer.reloads_failed}});
  if (const auto left = certificate_left(layer, now)) json["certificate_left_seconds"] = left->count();
}

void add_latency(Json& json, const Histogram& latency) {
  json.update({{"latency_p50_seconds", seconds_at(latency, 50)},
               {"latency_p90_seconds", seconds_at(latency, 90)},
               {"latency_p99_seconds", seconds_at(latency, 99)},
               {"latency_max_seconds", seconds_at(latency, 100)},
               {"latency_histogram", intervals(latency)}});
}

Json method_json(const MethodStats& method) {
  Json json{{"method", method.name},
            {"calls", method.calls},
            {"under_way", method.under_way},
            {"failed", method.failed},
            {"timed_out", method.timed_out},
            {"cancelled", method.cancelled},
            {"handler_exceptions", method.threw}};
  add_latency(json, method.latency);
  return json;
}

Json route_json(const RouteStats& route) {
  Json json{{"route", route_name(route.method, route.pattern)}, {"requests", route.requests}};
  for (size_t digit = 1; digit < route.answers.size(); ++digit) {
    json[fmt::format("answers_{}xx", digit)] = route.answers.at(digit);
  }
  json.update({{"abandoned", route.abandoned}, {"response_body_bytes", route.response_body_bytes}});
  add_latency(json, route.latency);
  return json;
}

Json slow_json(const SlowRequest& slow, std::chrono::system_clock::time_point now) {
  return {{"route", route_name(slow.route_method, slow.route)},
          {"took_seconds", in_seconds(slow.took)},
          {"ago_seconds", std::max(0.0, unix_seconds(now) - unix_seconds(slow.began))},
          {"request", slow.method.empty() ? std::string() : fmt::format("{} {}", slow.method, slow.target)},
          {"status", slow.status},
          {"client", slow.client}};
}

std::string flags_of(const ConnectionFacts& facts) {
  std::string text;
  const auto add = [&text](bool on, std::string_view word) {
    if (!on) return;
    if (!text.empty()) text += ", ";
    text += word;
  };
  add(facts.paused, "paused");
  add(facts.above_high_water, "above high water");
  add(facts.piped, "piped");
  add(facts.peer_ended, "peer ended");
  return text;
}

Json connection_json(const ConnectionName& name, const ConnectionFacts& facts) {
  Json json{{"id", name.to_string()},
            {"peer", facts.peer.to_string()},
            {"local", facts.local.to_string()},
            {"state", facts.state},
            {"flags", flags_of(facts)},
            {"age_seconds", in_seconds(facts.age)},
            {"received_bytes", facts.received_bytes},
            {"sent_bytes", facts.sent_bytes},
            {"queued_bytes", facts.queued_bytes},
            {"unacknowledged_bytes", facts.unacknowledged_bytes},
            {"kept_bytes", facts.kept_bytes}};
  if (facts.layer) {
    json.update({{"protocol", facts.layer->protocol},
                 {"cipher", facts.layer->cipher},
                 {"application", facts.layer->application},
                 {"peer_subject", facts.layer->peer},
                 {"peer_names", facts.layer->names},
                 {"resumed", facts.layer->resumed}});
  }
  if (!facts.tcp) return json;
  json.update({{"round_trip_seconds", in_seconds(facts.tcp->round_trip)},
               {"round_trip_deviation_seconds", in_seconds(facts.tcp->round_trip_deviation)},
               {"retransmit_timeout_seconds", in_seconds(facts.tcp->retransmit_timeout)},
               {"since_received_seconds", in_seconds(facts.tcp->since_received)},
               {"since_sent_seconds", in_seconds(facts.tcp->since_sent)},
               {"congestion_window", facts.tcp->congestion_window},
               {"unacknowledged_segments", facts.tcp->unacknowledged},
               {"lost", facts.tcp->lost},
               {"retransmitted", facts.tcp->retransmitted},
               {"segment_bytes", facts.tcp->segment_bytes}});
  return json;
}

Json thread_json(const ThreadFacts& thread) {
  return {{"thread_id", thread.id},
          {"name", thread.name},
          {"state", thread.state},
          {"user_cpu_seconds", in_seconds(thread.user_cpu)},
          {"system_cpu_seconds", in_seconds(thread.system_cpu)},
          {"kept_waiting_seconds", in_seconds(thread.kept_waiting)},
          {"voluntary_switches", thread.voluntary_switches},
          {"involuntary_switches", thread.involuntary_switches},
          {"processor", thread.processor}};
}

Json loops_json(const Snapshot& snapshot) {
  Json loops = Json::array();
  for (const LoopSnapshot& loop : snapshot.loops) loops.push_back(loop_json(loop));
  return loops;
}

Json servers_json(const Snapshot& snapshot) {
  Json servers = Json::array();
  for (const ServerSnapshot& server : snapshot.servers) servers.push_back(to_json(server, snapshot.taken));
  return servers;
}

Json connections_json(const Snapshot& snapshot) {
  Json connections = Json::array();
  for (const ServerSnapshot& server : snapshot.servers) {
    for (const ConnectionRow& row : server.rows) connections.push_back(to_json(row));
  }
  return connections;
}

Json stalls_json(const Snapshot& snapshot) {
  Json stalls = Json::array();
  for (const Stall& stall : snapshot.stalls) {
    stalls.push_back({{"ago_seconds", in_seconds(snapshot.now - stall.found)},
                      {"thread", stall.thread_name},
                      {"thread_id", stall.thread_id},
                      {"lasting_seconds", in_seconds(stall.lasting)},
                      {"what", stall.what},
                      {"stack", stall.stack}});
  }
  return stalls;
}

Json memory_json(const Snapshot& snapshot) {
  return {{"held_bytes", snapshot.held_bytes},
          {"soft_mark_bytes", snapshot.marks.soft_bytes},
          {"hard_mark_bytes", snapshot.marks.hard_bytes}};
}

Json threads_json(const Snapshot& snapshot) {
  Json threads = Json::array();
  for (const ThreadFacts& thread : snapshot.threads) threads.push_back(thread_json(thread));
  return threads;
}

Json log_json(const Snapshot& snapshot) { return {{"level", to_string(snapshot.log_level)}}; }

Json metrics_json(const Snapshot& snapshot) { return program_metrics_json(snapshot.metrics); }

// Asks the kernel which engines it supports, and makes an io_uring for that.
Json build_json(const Snapshot& /*snapshot*/) {
  std::string engines;
  for (const std::string_view name : engine_names()) {
    if (!why_unsupported(name).empty()) continue;
    engines += fmt::format("{}{}", engines.empty() ? "" : ", ", name);
  }
  return {{"peal", kBuiltVersion},   {"compiler", kBuiltCompiler},
          {"flags", kBuiltFlags},    {"sanitizers", kBuiltSanitizers},
          {"standard", __cplusplus}, {"c_library", ::gnu_get_libc_version()},
          {"fmt", FMT_VERSION},      {"engines", engines}};
}

struct Part {
  std::string_view name;
  Json (*make)(const Snapshot&);
};
constexpr std::array kParts{
    Part{"loops", loops_json},     Part{"servers", servers_json}, Part{"connections", connections_json},
    Part{"stalls", stalls_json},   Part{"memory", memory_json},   Part{"process", process_json},
    Part{"threads", threads_json}, Part{"system", system_json},   Part{"log", log_json},
    Part{"metrics", metrics_json}, Part{"build", build_json},
};

}  // namespace

double unix_seconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

nlohmann::ordered_json to_json(const ConnectionRow& row) { return connection_json(row.name, row.facts); }

nlohmann::ordered_json to_json(const ServerSnapshot& server, std::chrono::system_clock::time_point now) {
  const NetStats& stats = server.stats;
  Json json{{"server", server.number},
            {"name", server.name},
            {"state", server.draining ? "draining" : "open"},
            {"connections", server.connections},
            {"complete", !server.partial},
            {"opened", stats.opened},
            {"closed", stats.closed},
            {"exceptions", stats.exceptions},
            {"idle_closes", stats.idle_closes},
            {"slow_closes", stats.slow_closes},
            {"evicted", stats.evicted},
            {"refused", stats.refused},
            {"handshakes_failed", stats.handshakes_failed},
            {"bad_messages", stats.bad_messages},
            {"memory_pauses", stats.memory_pauses},
            {"memory_closes", stats.memory_closes},
            {"late_calls", stats.late_calls},
            {"lost_calls", stats.lost_calls},
            {"drained", stats.drained},
            {"drain_forced", stats.drain_forced}};
  if (server.tasks) json["tasks"] = *server.tasks;
  if (server.layer) add_layer(json, *server.layer, now);
  if (server.http) add_http(json, *server.http);
  for (const MethodStats& method : server.methods) json["methods"].push_back(method_json(method));
  for (const RouteStats& route : server.routes) json["routes"].push_back(route_json(route));
  for (const SlowRequest& slow : server.slowest) json["slowest"].push_back(slow_json(slow, now));
  return json;
}

nlohmann::ordered_json part_json(const Snapshot& snapshot, std::string_view part) {
  return std::ranges::find(kParts, part, &Part::name)->make(snapshot);
}

nlohmann::ordered_json to_json(const Snapshot& snapshot) {
  Json json{{"taken_unix_seconds", unix_seconds(snapshot.taken)}, {"watches_for_stalls", snapshot.watched}};
  for (const Part& part : kParts) json[std::string(part.name)] = part.make(snapshot);
  json["hidden_metrics"] = snapshot.metrics.hidden;
  return json;
}

nlohmann::ordered_json to_json(const ConnectionDetail& detail) {
  Json json{{"connection", detail.facts ? connection_json(detail.name, *detail.facts) : Json()},
            {"recorded", detail.recorded}};
  Json flight = Json::array();
  for (const FlightEvent& event : detail.events) {
    Json entry{{"ago_seconds", in_seconds(detail.now - event.at)}, {"event", to_string(event.kind)}};
    if (event.kind == FlightKind::kClosing) {
      entry["reason"] = to_string(static_cast<CloseReason>(event.bytes));
    } else {
      entry["bytes"] = event.bytes;
    }
    flight.push_back(std::move(entry));
  }
  json["flight"] = std::move(flight);
  return json;
}

std::string dump(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace peal::detail
