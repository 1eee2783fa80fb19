// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/call_metrics.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <peal/inspect/parts/call_stats.h>

namespace peal::detail {
namespace {

double as_value(uint64_t count) { return static_cast<double>(count); }

// A method or a route. The number and the name of its server, and its own name, become labels of its metrics.
template <class Stats>
struct CallPlace {
  std::string number;
  const std::string& server;
  std::string name;
  const Stats& stats;
};

// A counter of a method or a route.
template <class Stats>
struct CallMetric {
  std::string_view name;
  std::string_view unit;
  std::string_view help;
  double (*value)(const Stats& stats);
};

constexpr CallMetric<MethodStats> kMethodCounters[] = {
    {"method_calls", "", "Calls that have begun.", [](const MethodStats& method) { return as_value(method.calls); }},
    {"method_failed_calls", "", "Calls that were answered with an error.",
     [](const MethodStats& method) { return as_value(method.failed); }},
    {"method_timed_out_calls", "", "Calls that were answered with an error because they took too long.",
     [](const MethodStats& method) { return as_value(method.timed_out); }},
    {"method_cancelled_calls", "", "Calls that the client cancelled or whose connection ended.",
     [](const MethodStats& method) { return as_value(method.cancelled); }},
    {"method_exceptions", "", "Exceptions of handlers.",
     [](const MethodStats& method) { return as_value(method.threw); }},
};

constexpr CallMetric<RouteStats> kRouteCounters[] = {
    {"route_requests", "", "Requests that were answered or abandoned.",
     [](const RouteStats& route) { return as_value(route.requests); }},
    {"route_abandoned_requests", "", "Requests whose connection ended before the answer was complete.",
     [](const RouteStats& route) { return as_value(route.abandoned); }},
    {"route_response_body_bytes", "bytes", "Bytes of the bodies of responses.",
     [](const RouteStats& route) { return as_value(route.response_body_bytes); }},
};

// The quantiles of a latency, each as a label and in percent.
constexpr std::pair<std::string_view, double> kQuantiles[] = {{"0.5", 50}, {"0.9", 90}, {"0.99", 99}, {"1", 100}};

// `kind` is the label that has the name of a method or a route: "method" or "route".
template <class Stats>
void add_counters(MetricsText& out, std::string_view kind, const auto& metrics,
                  const std::vector<CallPlace<Stats>>& places) {
  for (const CallMetric<Stats>& metric : metrics) {
    out.family(metric.name, MetricType::kCounter, metric.unit, metric.help);
    for (const auto& [number, server, name, stats] : places) {
      out.sample("_total", metric.value(stats), {{"server", number}, {"name", server}, {kind, name}});
    }
  }
}

template <class Stats>
void add_latencies(MetricsText& out, std::string_view kind, std::string_view help,
                   const std::vector<CallPlace<Stats>>& places) {
  out.family(fmt::format("{}_latency_seconds", kind), MetricType::kHistogram, "seconds", help);
  for (const auto& [number, server, name, stats] : places) {
    const Histogram& latency = stats.latency;
    const auto add_bucket = [&](std::string_view limit, uint64_t count) {
      out.sample("_bucket", as_value(count), {{"server", number}, {"name", server}, {kind, name}, {"le", limit}});
    };
    for (const int64_t limit_ns : kTimeLimitsNs) {
      add_bucket(fmt::to_string(static_cast<double>(limit_ns) / 1e9), latency.count_at_or_below(limit_ns));
    }
    add_bucket("+Inf", latency.total_count());
    out.sample("_sum", latency.mean() * as_value(latency.total_count()) / 1e9,
               {{"server", number}, {"name", server}, {kind, name}});
    out.sample("_count", as_value(latency.total_count()), {{"server", number}, {"name", server}, {kind, name}});
  }
  out.family(fmt::format("{}_latency_quantile_seconds", kind), MetricType::kGauge, "seconds",
             "Quantiles of the latencies since the server was made; 1 is the longest.");
  for (const auto& [number, server, name, stats] : places) {
    for (const auto& [quantile, percent] : kQuantiles) {
      out.sample("", seconds_at(stats.latency, percent),
                 {{"server", number}, {"name", server}, {kind, name}, {"quantile", quantile}});
    }
  }
}

}  // namespace

void add_method_metrics(MetricsText& out, const Snapshot& snapshot) {
  std::vector<CallPlace<MethodStats>> places;
  for (const ServerSnapshot& server : snapshot.servers) {
    for (const MethodStats& method : server.methods) {
      places.push_back({fmt::to_string(server.number), server.name, method.name, method});
    }
  }
  if (places.empty()) return;
  add_counters(out, "method", kMethodCounters, places);
  out.family("method_calls_under_way", MetricType::kGauge, "", "Calls whose handler has not ended.");
  for (const auto& [number, server, name, method] : places) {
    out.sample("", as_value(method.under_way), {{"server", number}, {"name", server}, {"method", name}});
  }
  add_latencies(out, "method", "Time from reading a call to the end of its handler.", places);
}

void add_route_metrics(MetricsText& out, const Snapshot& snapshot) {
  std::vector<CallPlace<RouteStats>> places;
  for (const ServerSnapshot& server : snapshot.servers) {
    for (const RouteStats& route : server.routes) {
      places.push_back({fmt::to_string(server.number), server.name, route_name(route.method, route.pattern), route});
    }
  }
  if (places.empty()) return;
  add_counters(out, "route", kRouteCounters, places);
  out.family("route_answers", MetricType::kCounter, "", "Responses, by the first digit of the status.");
  for (const auto& [number, server, name, route] : places) {
    for (size_t digit = 1; digit < route.answers.size(); ++digit) {
      out.sample("_total", as_value(route.answers.at(digit)),
                 {{"server", number}, {"name", server}, {"route", name}, {"code", fmt::format("{}xx", digit)}});
    }
  }
  add_latencies(out, "route", "Time from reading a request to the end of the turn that completed its answer.", places);
}

}  // namespace peal::detail
