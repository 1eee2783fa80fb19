// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/happy_eyeballs.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <peal/base/assert.h>

namespace peal::detail {

HappyEyeballs::HappyEyeballs(std::vector<SocketAddress> addresses, unsigned most_at_once)
    : addresses_(std::move(addresses)), most_at_once_(most_at_once) {
  PEAL_ASSERT(most_at_once > 0, "most_at_once is 0, so none of {} addresses would be tried", addresses_.size());
  take_turns();
}

void HappyEyeballs::add(const std::vector<SocketAddress>& addresses) {
  addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
  take_turns();
}

// Reorders the addresses so that the families alternate, beginning with the last address that was tried. That address
// stays in its place.
void HappyEyeballs::take_turns() {
  const auto first = addresses_.begin() + static_cast<ptrdiff_t>(next_ == 0 ? 0 : next_ - 1);
  for (auto at = first; at != addresses_.end() && std::next(at) != addresses_.end(); ++at) {
    const auto turn = std::next(at);
    const auto other = std::find_if(turn, addresses_.end(), [&](const auto& a) { return a.family() != at->family(); });
    // Moves the next address of the other family to the position `turn`. The addresses in between keep their order.
    if (other != addresses_.end()) std::rotate(turn, other, std::next(other));
  }
}

const SocketAddress& HappyEyeballs::next() {
  PEAL_ASSERT(next_ < addresses_.size(), "there is no address {} of {}", next_ + 1, addresses_.size());
  return addresses_[next_++];
}

}  // namespace peal::detail
