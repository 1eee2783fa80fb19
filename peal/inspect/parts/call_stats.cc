// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/call_stats.h>

#include <fmt/format.h>

#include <peal/base/printable.h>

namespace peal::detail {

std::string route_name(std::string_view method, std::string_view pattern) {
  if (pattern.empty()) return "no route";
  return fmt::format("{} {}", method.empty() ? "(any)" : method, printable(pattern));
}

std::vector<CallStats> calls_of(const ServerSnapshot& server) {
  std::vector<CallStats> calls;
  calls.reserve(server.methods.size() + server.routes.size());
  for (const MethodStats& method : server.methods) {
    calls.push_back({.name = method.name,
                     .calls = method.calls,
                     .client_errors = {},
                     .server_errors = method.failed,
                     .latency = method.latency});
  }
  for (const RouteStats& route : server.routes) {
    calls.push_back({.name = route_name(route.method, route.pattern),
                     .calls = route.requests,
                     .client_errors = route.answers.at(4),
                     .server_errors = route.answers.at(5),
                     .latency = route.latency});
  }
  return calls;
}

CallStats sum_of(const std::vector<CallStats>& calls) {
  CallStats sum;
  for (const CallStats& each : calls) {
    sum.calls += each.calls;
    if (each.client_errors) sum.client_errors = sum.client_errors.value_or(0) + *each.client_errors;
    sum.server_errors += each.server_errors;
    if (each.latency.options() == sum.latency.options()) sum.latency.add(each.latency);
  }
  return sum;
}

}  // namespace peal::detail
