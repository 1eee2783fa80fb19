// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/method_stats.h>

#include <algorithm>

namespace peal {

void MethodStats::add(const MethodStats& other) {
  latency.add(other.latency);
  calls += other.calls;
  failed += other.failed;
  timed_out += other.timed_out;
  cancelled += other.cancelled;
  threw += other.threw;
  under_way += other.under_way;
}

void add_methods(std::vector<MethodStats>& sum, const std::vector<MethodStats>& more) {
  for (size_t i = 0; i < more.size(); ++i) {
    // All loops of a server list their methods in the same order, so a search is rarely needed.
    const auto found = i < sum.size() && sum[i].name == more[i].name
                           ? sum.begin() + static_cast<std::ptrdiff_t>(i)
                           : std::ranges::find(sum, more[i].name, &MethodStats::name);
    if (found == sum.end()) {
      sum.push_back(more[i]);
    } else {
      found->add(more[i]);
    }
  }
}

}  // namespace peal
