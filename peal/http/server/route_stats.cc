// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/route_stats.h>

#include <algorithm>

namespace peal {

void RouteStats::add(const RouteStats& other) {
  latency.add(other.latency);
  requests += other.requests;
  for (size_t i = 0; i < answers.size(); ++i) answers[i] += other.answers[i];
  abandoned += other.abandoned;
  response_body_bytes += other.response_body_bytes;
}

void add_routes(std::vector<RouteStats>& sum, const std::vector<RouteStats>& more) {
  for (const RouteStats& route : more) {
    const auto found = std::ranges::find_if(
        sum, [&](const RouteStats& known) { return known.method == route.method && known.pattern == route.pattern; });
    if (found == sum.end()) {
      sum.push_back(route);
    } else {
      found->add(route);
    }
  }
}

}  // namespace peal
