// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/call_stats.h>

#include <fmt/format.h>

#include <peal/base/printable.h>

namespace peal::detail {

std::string route_name(std::string_view method, std::string_view pattern) {
  if (pattern.empty()) return "no route";
  if (pattern == kMoreRoutes) return std::string(pattern);
  return fmt::format("{} {}", method.empty() ? "(any)" : method, printable(pattern));
}

std::vector<CallView> calls_of(const ServerSnapshot& server) {
  std::vector<CallView> calls;
  calls.reserve(server.methods.size() + server.routes.size());
  for (const MethodStats& method : server.methods) {
    const CallCounts counts{.calls = method.calls, .client_errors = {}, .server_errors = method.failed};
    calls.push_back({.name = method.name, .counts = counts, .latency = method.latency});
  }
  for (const RouteStats& route : server.routes) {
    const CallCounts counts{
        .calls = route.requests, .client_errors = route.answers.at(4), .server_errors = route.answers.at(5)};
    calls.push_back({.name = route_name(route.method, route.pattern), .counts = counts, .latency = route.latency});
  }
  return calls;
}

CallStats sum_of(const std::vector<CallView>& calls) {
  CallStats sum;
  for (const CallView& each : calls) {
    const CallCounts& more = each.counts;
    sum.counts.calls += more.calls;
    if (more.client_errors) sum.counts.client_errors = sum.counts.client_errors.value_or(0) + *more.client_errors;
    sum.counts.server_errors += more.server_errors;
    if (each.latency.options() == sum.latency.options()) sum.latency.add(each.latency);
  }
  return sum;
}

}  // namespace peal::detail
