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
  // All loops list their routes in the same order, so the next one is usually right behind the one before.
  size_t next = 0;
  for (const RouteStats& route : more) {
    const auto is_it = [&](const RouteStats& known) {
      return known.method == route.method && known.pattern == route.pattern;
    };
    auto found = std::find_if(sum.begin() + static_cast<std::ptrdiff_t>(next), sum.end(), is_it);
    if (found == sum.end()) found = std::find_if(sum.begin(), sum.end(), is_it);
    if (found == sum.end()) {
      sum.push_back(route);
      continue;
    }
    found->add(route);
    next = static_cast<size_t>(found - sum.begin()) + 1;
  }
}

}  // namespace peal
