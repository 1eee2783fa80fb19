// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/snapshot_metrics.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <peal/inspect/parts/built_in.h>
#include <peal/inspect/parts/call_metrics.h>
#include <peal/inspect/parts/program_metrics.h>

namespace peal::detail {
namespace {

double plain(uint64_t value) { return static_cast<double>(value); }

// A family of metrics with one sample for each loop. The function `value` returns the sample of a loop.
struct LoopMetric {
  std::string_view name;
  MetricType type;
  std::string_view unit;
  std::string_view help;
  double (*value)(const LoopSnapshot& loop);
};

constexpr LoopMetric kLoopMetrics[] = {
    {"loop_answers", MetricType::kGauge, "", "1 if the loop answered the inspector in time, else 0.",
     [](const LoopSnapshot& loop) { return loop.answered ? 1.0 : 0.0; }},
    {"loop_silent_seconds", MetricType::kGauge, "seconds", "Time since the loop was asked, if it has not answered.",
     [](const LoopSnapshot& loop) { return in_seconds(loop.silent); }},
    {"loop_turns", MetricType::kCounter, "", "Turns of the loop.",
     [](const LoopSnapshot& loop) { return plain(loop.stats.turns); }},
    {"loop_busy_seconds", MetricType::kCounter, "seconds", "Time spent in events, timers and tasks.",
     [](const LoopSnapshot& loop) { return loop.times ? in_seconds(loop.times->busy()) : 0; }},
    {"loop_waiting_seconds", MetricType::kCounter, "seconds", "Time spent asleep, or spinning before the sleep.",
     [](const LoopSnapshot& loop) { return loop.times ? in_seconds(loop.times->waiting()) : 0; }},
    {"loop_cpu_seconds", MetricType::kCounter, "seconds", "CPU time of the thread of the loop.",
     [](const LoopSnapshot& loop) { return in_seconds(loop.cpu); }},
    {"loop_events", MetricType::kCounter, "", "Events that the engine handled.",
     [](const LoopSnapshot& loop) { return plain(loop.engine_stats.events); }},
    {"loop_tasks", MetricType::kCounter, "", "Posted tasks that were called.",
     [](const LoopSnapshot& loop) { return plain(loop.stats.tasks); }},
    {"loop_waiting_tasks", MetricType::kGauge, "", "Posted tasks that wait to be called.",
     [](const LoopSnapshot& loop) { return plain(loop.tasks_waiting); }},
    {"loop_timers", MetricType::kGauge, "", "Timers pending.",
     [](const LoopSnapshot& loop) { return plain(loop.timers); }},
    {"loop_fired_timers", MetricType::kCounter, "", "Timers that fired.",
     [](const LoopSnapshot& loop) { return plain(loop.stats.timers_fired); }},
    {"loop_wakeups", MetricType::kCounter, "", "Times another thread woke the loop.",
     [](const LoopSnapshot& loop) { return plain(loop.engine_stats.wakeups); }},
    {"loop_spins", MetricType::kCounter, "", "Waits that spun before they slept.",
     [](const LoopSnapshot& loop) { return plain(loop.stats.spins); }},
    {"loop_exceptions", MetricType::kCounter, "", "Exceptions of tasks, timers and watches, caught by the loop.",
     [](const LoopSnapshot& loop) { return plain(loop.stats.exceptions); }},
    {"loop_stalls", MetricType::kCounter, "", "Turns longer than a stall watchdog's threshold.",
     [](const LoopSnapshot& loop) { return plain(loop.stats.stalls); }},
    {"loop_received_bytes", MetricType::kCounter, "bytes", "Bytes received.",
     [](const LoopSnapshot& loop) { return plain(loop.engine_stats.received_bytes); }},
    {"loop_sent_bytes", MetricType::kCounter, "bytes", "Bytes sent.",
     [](const LoopSnapshot& loop) { return plain(loop.engine_stats.sent_bytes); }},
    {"loop_short_sends", MetricType::kCounter, "", "Sends of which the kernel took only a part.",
     [](const LoopSnapshot& loop) { return plain(loop.engine_stats.short_sends); }},
    {"loop_accepts", MetricType::kCounter, "", "Connections accepted.",
     [](const LoopSnapshot& loop) { return plain(loop.engine_stats.accepts); }},
    {"loop_failed_accepts", MetricType::kCounter, "", "Attempts to accept that failed.",
     [](const LoopSnapshot& loop) { return plain(loop.engine_stats.accepts_failed); }},
    {"loop_shed_accepts", MetricType::kCounter, "", "Connections closed at once because no file descriptor was free.",
     [](const LoopSnapshot& loop) { return plain(loop.engine_stats.accepts_shed); }},
    {"loop_block_bytes", MetricType::kGauge, "bytes", "Memory of the blocks in use.",
     [](const LoopSnapshot& loop) { return plain(loop.blocks.bytes_in_use); }},
    {"loop_free_blocks", MetricType::kGauge, "", "Free blocks that are kept for reuse.",
     [](const LoopSnapshot& loop) { return plain(loop.blocks.blocks_free); }},
};

struct ServerMetric {
  std::string_view name;
  std::string_view unit;
  std::string_view help;
  double (*value)(const ServerSnapshot& server);
};

constexpr ServerMetric kServerCounters[] = {
    {"server_opened_connections", "", "Connections that were opened.",
     [](const ServerSnapshot& server) { return plain(server.stats.opened); }},
    {"server_closed_connections", "", "Connections that ended.",
     [](const ServerSnapshot& server) { return plain(server.stats.closed); }},
    {"server_exceptions", "", "Exceptions of callbacks; each closed its connection.",
     [](const ServerSnapshot& server) { return plain(server.stats.exceptions); }},
    {"server_idle_closes", "", "Connections closed for being idle.",
     [](const ServerSnapshot& server) { return plain(server.stats.idle_closes); }},
    {"server_slow_closes", "", "Connections closed for sending or reading too slowly.",
     [](const ServerSnapshot& server) { return plain(server.stats.slow_closes); }},
    {"server_evicted_connections", "", "Connections closed to make room for another.",
     [](const ServerSnapshot& server) { return plain(server.stats.evicted); }},
    {"server_refused_connections", "", "Connections closed before they were open, because the server was full.",
     [](const ServerSnapshot& server) { return plain(server.stats.refused); }},
    {"server_failed_handshakes", "",
     "Connections closed before they were open, because the handshake failed or took too long.",
     [](const ServerSnapshot& server) { return plain(server.stats.handshakes_failed); }},
    {"server_bad_messages", "", "Connections closed because the peer broke the framing or ended inside a message.",
     [](const ServerSnapshot& server) { return plain(server.stats.bad_messages); }},
    {"server_memory_closes", "", "Connections closed because the process held too much memory.",
     [](const ServerSnapshot& server) { return plain(server.stats.memory_closes); }},
    {"server_late_calls", "", "Calls through handles whose connection had ended.",
     [](const ServerSnapshot& server) { return plain(server.stats.late_calls); }},
    {"server_lost_calls", "", "Calls through handles that the loop refused.",
     [](const ServerSnapshot& server) { return plain(server.stats.lost_calls); }},
};

constexpr ServerMetric kHttpCounters[] = {
    {"http_requests", "", "Requests whose head was read.",
     [](const ServerSnapshot& server) { return plain(server.http->requests); }},
    {"http_malformed_requests", "", "Requests refused because they were not HTTP or ambiguous.",
     [](const ServerSnapshot& server) { return plain(server.http->malformed); }},
    {"http_tls_hellos", "", "Clients that spoke TLS to a port without TLS.",
     [](const ServerSnapshot& server) { return plain(server.http->tls_hellos); }},
    {"http_too_large_requests", "", "Requests refused because they exceeded a limit.",
     [](const ServerSnapshot& server) { return plain(server.http->too_large); }},
    {"http_abandoned_requests", "", "Requests whose connection ended before the answer was complete.",
     [](const ServerSnapshot& server) { return plain(server.http->abandoned); }},
    {"http_exceptions", "", "Exceptions of handlers.",
     [](const ServerSnapshot& server) { return plain(server.http->exceptions); }},
    {"http_request_body_bytes", "bytes", "Bytes of request bodies received.",
     [](const ServerSnapshot& server) { return plain(server.http->request_body_bytes); }},
    {"http_response_body_bytes", "bytes", "Bytes of response bodies sent.",
     [](const ServerSnapshot& server) { return plain(server.http->response_body_bytes); }},
};

constexpr ServerMetric kLayerCounters[] = {
    {"layer_handshakes", "", "Handshakes that were completed.",
     [](const ServerSnapshot& server) { return plain(server.layer->handshakes); }},
    {"layer_resumed_handshakes", "", "Handshakes that resumed an earlier session.",
     [](const ServerSnapshot& server) { return plain(server.layer->resumed); }},
    {"layer_failed_handshakes", "", "Handshakes that failed.",
     [](const ServerSnapshot& server) { return plain(server.layer->failed); }},
    {"layer_clear_peers", "", "Handshakes that failed because the peer did not encrypt.",
     [](const ServerSnapshot& server) { return plain(server.layer->in_the_clear); }},
    {"layer_reloads", "", "Times the files of the layer were read again.",
     [](const ServerSnapshot& server) { return plain(server.layer->reloads); }},
    {"layer_failed_reloads", "", "Times the files were invalid and the earlier ones stayed in use.",
     [](const ServerSnapshot& server) { return plain(server.layer->reloads_failed); }},
};

void add_loops(MetricsText& out, const Snapshot& snapshot) {
  for (const LoopMetric& metric : kLoopMetrics) {
    out.family(metric.name, metric.type, metric.unit, metric.help);
    for (const LoopSnapshot& loop : snapshot.loops) {
      out.sample(metric.type == MetricType::kCounter ? "_total" : "", metric.value(loop),
                 {{"loop", fmt::to_string(loop.number)}, {"thread", loop.thread}});
    }
  }
  out.family("loop_turn_seconds", MetricType::kHistogram, "seconds", "Busy time of each turn.");
  for (const LoopSnapshot& loop : snapshot.loops) {
    if (!loop.times) continue;
    const std::string number = fmt::to_string(loop.number);
    const Histogram& turns = loop.times->turns();
    for (const int64_t limit_ns : kTimeLimitsNs) {
      out.sample(
          "_bucket", plain(turns.count_at_or_below(limit_ns)),
          {{"loop", number}, {"thread", loop.thread}, {"le", fmt::to_string(static_cast<double>(limit_ns) / 1e9)}});
    }
    out.sample("_bucket", plain(turns.total_count()), {{"loop", number}, {"thread", loop.thread}, {"le", "+Inf"}});
    out.sample("_sum", in_seconds(loop.times->busy()), {{"loop", number}, {"thread", loop.thread}});
    out.sample("_count", plain(turns.total_count()), {{"loop", number}, {"thread", loop.thread}});
  }
}

// Adds a counter with one sample for each server for which `has` returns true.
void add_server_counter(MetricsText& out, const Snapshot& snapshot, const ServerMetric& metric,
                        bool (*has)(const ServerSnapshot& server)) {
  out.family(metric.name, MetricType::kCounter, metric.unit, metric.help);
  for (const ServerSnapshot& server : snapshot.servers) {
    if (!has(server)) continue;
    out.sample("_total", metric.value(server), {{"server", fmt::to_string(server.number)}, {"name", server.name}});
  }
}

void add_layers(MetricsText& out, const Snapshot& snapshot) {
  const auto has_layer = [](const ServerSnapshot& server) { return server.layer.has_value(); };
  if (std::ranges::none_of(snapshot.servers, has_layer)) return;
  for (const ServerMetric& metric : kLayerCounters) add_server_counter(out, snapshot, metric, has_layer);
  out.family("layer_handshakes_under_way", MetricType::kGauge, "", "Handshakes in progress.");
  for (const ServerSnapshot& server : snapshot.servers) {
    if (!server.layer) continue;
    out.sample("", plain(server.layer->under_way), {{"server", fmt::to_string(server.number)}, {"name", server.name}});
  }
  out.family("layer_certificate_left_seconds", MetricType::kGauge, "seconds",
             "Time until the first certificate expires; negative after that.");
  for (const ServerSnapshot& server : snapshot.servers) {
    if (!server.layer) continue;
    const std::optional<std::chrono::seconds> left = certificate_left(*server.layer, snapshot.taken);
    if (!left) continue;
    out.sample("", static_cast<double>(left->count()),
               {{"server", fmt::to_string(server.number)}, {"name", server.name}});
  }
}

void add_servers(MetricsText& out, const Snapshot& snapshot) {
  out.family("server_connections", MetricType::kGauge, "",
             "Connections that are open, being handed over or in a handshake.");
  for (const ServerSnapshot& server : snapshot.servers) {
    out.sample("", plain(server.connections), {{"server", fmt::to_string(server.number)}, {"name", server.name}});
  }
  if (std::ranges::any_of(snapshot.servers, [](const ServerSnapshot& server) { return server.tasks.has_value(); })) {
    out.family("server_tasks", MetricType::kGauge, "", "Coroutines of connections that have not ended.");
  }
  for (const ServerSnapshot& server : snapshot.servers) {
    if (!server.tasks) continue;
    out.sample("", plain(*server.tasks), {{"server", fmt::to_string(server.number)}, {"name", server.name}});
  }
  for (const ServerMetric& metric : kServerCounters) {
    add_server_counter(out, snapshot, metric, [](const ServerSnapshot&) { return true; });
  }
  for (const ServerMetric& metric : kHttpCounters) {
    add_server_counter(out, snapshot, metric, [](const ServerSnapshot& server) { return server.http.has_value(); });
  }
  add_layers(out, snapshot);
  out.family("http_answers", MetricType::kCounter, "", "Responses, by the first digit of the status.");
  for (const ServerSnapshot& server : snapshot.servers) {
    for (size_t digit = 1; server.http && digit < server.http->answers.size(); ++digit) {
      out.sample(
          "_total", plain(server.http->answers.at(digit)),
          {{"server", fmt::to_string(server.number)}, {"name", server.name}, {"code", fmt::format("{}xx", digit)}});
    }
  }
}

// Adds figures of the process under the names that all Prometheus exporters use.
void add_process(MetricsText& out, const ProcessFacts& process) {
  out.counter("process_cpu_seconds", "seconds", "CPU time, user and system.",
              in_seconds(process.user_cpu + process.system_cpu));
  out.gauge("process_resident_memory_bytes", "bytes", "Memory in RAM.", plain(process.resident_bytes));
  out.gauge("process_virtual_memory_bytes", "bytes", "Size of the address space.", plain(process.virtual_bytes));
  out.gauge("process_start_time_seconds", "seconds", "Start of the process, in seconds since 1970.",
            std::chrono::duration<double>(process.started.time_since_epoch()).count());
  out.gauge("process_threads", "", "Threads of the process.", process.threads);
  if (process.open_fds) out.gauge("process_open_fds", "", "Open file descriptors.", *process.open_fds);
  if (process.most_fds) out.gauge("process_max_fds", "", "Limit of open file descriptors.", plain(*process.most_fds));
}

}  // namespace

std::string to_metrics(const Snapshot& snapshot, MetricsFormat format) {
  MetricsText out(format, "peal_");
  out.family("build", MetricType::kInfo, "", "How the library was built.");
  out.sample("_info", 1, {{"version", kBuiltVersion}, {"compiler", kBuiltCompiler}});
  add_loops(out, snapshot);
  add_servers(out, snapshot);
  add_method_metrics(out, snapshot);
  add_route_metrics(out, snapshot);
  out.gauge("memory_held_bytes", "bytes", "Memory of all blocks, in use and free.", plain(snapshot.held_bytes));
  out.gauge("memory_soft_mark_bytes", "bytes", "Mark of held memory above which reading pauses.",
            plain(snapshot.marks.soft_bytes));
  out.gauge("memory_hard_mark_bytes", "bytes", "Mark of held memory above which connections are closed.",
            plain(snapshot.marks.hard_bytes));
  out.gauge("hidden_metrics", "", "Objects of the program's metrics that are not shown, because it has too many.",
            plain(snapshot.metrics.hidden));
  out.set_prefix({});
  add_process(out, snapshot.process);
  add_program_metrics(out, snapshot.metrics);
  return std::move(out).finish();
}

}  // namespace peal::detail
