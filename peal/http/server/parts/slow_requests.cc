// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/slow_requests.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace peal::detail {

namespace {

bool slower(const SlowRequest& one, const SlowRequest& other) { return one.took > other.took; }

}  // namespace

void SlowRequests::add(SlowRequest request) {
  const auto at = std::ranges::upper_bound(collected_, request, slower);
  if (at == collected_.end() && collected_.size() >= kMost) return;
  collected_.insert(at, std::move(request));
  if (collected_.size() > kMost) collected_.pop_back();
}

// After 10 minutes without a call both lists are too old.
void SlowRequests::age(TimePoint now) {
  if (now < half_ends_) return;
  const bool both = now >= half_ends_ + kHalf;
  before_ = both ? std::vector<SlowRequest>() : std::move(collected_);
  collected_.clear();
  half_ends_ = both ? now + kHalf : half_ends_ + kHalf;
}

std::vector<SlowRequest> SlowRequests::all() const {
  std::vector<SlowRequest> all;
  std::ranges::merge(collected_, before_, std::back_inserter(all), slower);
  if (all.size() > kMost) all.resize(kMost);
  return all;
}

}  // namespace peal::detail
