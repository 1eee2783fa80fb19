// SPDX-License-Identifier: BSD-3-Clause
// HappyEyeballs: which address of a host to try next (RFC 8305 4 and 5). It uses no clock and no socket; the Connector
// asks it.
#pragma once

#include <cstddef>
#include <vector>

#include <peal/base/socket_address.h>

namespace peal::detail {

class HappyEyeballs {
 public:
  HappyEyeballs() = default;
  // Orders `addresses` (best first) so that the two families alternate, beginning with the family of the first address
  // (RFC 8305 4, with a First Address Family Count of 1). At most `most_at_once` (> 0) attempts run at a time.
  HappyEyeballs(std::vector<SocketAddress> addresses, unsigned most_at_once);
  // Adds the addresses of a later answer. Puts all addresses that were not tried yet into a new order, in which the two
  // families alternate.
  void add(const std::vector<SocketAddress>& addresses);

  // Returns whether another attempt may begin while `under_way` attempts are in progress.
  bool has_next(size_t under_way) const { return next_ < addresses_.size() && under_way < most_at_once_; }
  // Returns the next address to try. Asserts that an address is left.
  const SocketAddress& next();

 private:
  void take_turns();

  std::vector<SocketAddress> addresses_;
  size_t next_ = 0;
  unsigned most_at_once_ = 1;
};

}  // namespace peal::detail
