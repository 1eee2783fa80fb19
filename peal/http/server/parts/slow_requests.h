// SPDX-License-Identifier: BSD-3-Clause
// SlowRequests: the slowest requests of one loop, of the last 5 to 10 minutes. They are in two lists: one collects for
// 5 minutes, the other has those of the 5 minutes before. Only the loop's thread uses the object.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

#include <peal/base/clock.h>
#include <peal/http/server/route_stats.h>

namespace peal::detail {

class SlowRequests {
 public:
  static constexpr size_t kMost = 16;
  static constexpr Duration kHalf = std::chrono::minutes(5);
  static constexpr Duration kLeast = std::chrono::milliseconds(1);

  explicit SlowRequests(TimePoint now) : half_ends_(now + kHalf) {}

  // A request that took less than this is not listed: kLeast while the list that collects is not full. So a server that
  // answers fast looks for no slow requests, also when it has just begun.
  Duration least() const { return collected_.size() < kMost ? kLeast : collected_.back().took; }

  // Lists the request, unless kMost slower ones are listed.
  void add(SlowRequest request);

  // Changes to a new list when the current one has collected for 5 minutes. To be called before add() and all(), and
  // so often that least() does not stay too high.
  void age(TimePoint now);

  // Returns the requests of both lists, the slowest first, at most kMost.
  std::vector<SlowRequest> all() const;

 private:
  TimePoint half_ends_;
  std::vector<SlowRequest> collected_;  // the slowest first
  std::vector<SlowRequest> before_;     // likewise
};

}  // namespace peal::detail
