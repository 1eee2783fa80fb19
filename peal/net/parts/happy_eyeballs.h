// SPDX-License-Identifier: BSD-3-Clause
// HappyEyeballs: which address of a host to try next, and when (RFC 8305 4 and 5). It knows no clock and no socket: the
// Connector asks it.
#pragma once

#include <cstddef>
#include <vector>

#include <peal/base/socket_address.h>

namespace peal::detail {

class HappyEyeballs {
 public:
  HappyEyeballs() = default;
  // `addresses` as they came, best first: the families take turns, beginning with the first one's (RFC 8305 4, with a
  // First Address Family Count of 1). At most `most_at_once` attempts are under way at a time (> 0).
  HappyEyeballs(std::vector<SocketAddress> addresses, unsigned most_at_once);
  // What a later answer brings takes its turns among those that were not tried yet.
  void add(const std::vector<SocketAddress>& addresses);

  // May another attempt begin beside `under_way` others?
  bool has_next(size_t under_way) const { return next_ < addresses_.size() && under_way < most_at_once_; }
  const SocketAddress& next();

 private:
  void take_turns();

  std::vector<SocketAddress> addresses_;
  size_t next_ = 0;
  unsigned most_at_once_ = 1;
};

}  // namespace peal::detail
