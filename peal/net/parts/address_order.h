// SPDX-License-Identifier: BSD-3-Clause
// The order in which a name's addresses are tried (RFC 6724). A and AAAA are two questions, so each answer is sorted by
// itself, then the two are joined. The kernel is asked which source address it would use: a few system calls for each
// address, but no packet.
#pragma once

#include <vector>

#include <peal/base/socket_address.h>

namespace peal::detail {

// Sorts addresses of one family by RFC 6724 6, rules 1, 2, 5, 6, 8 and 9. If there are more than 64 addresses, only the
// first 64 are sorted, so that a long answer does not block the loop. The other addresses follow in their old order.
std::vector<SocketAddress> best_first(std::vector<SocketAddress> addresses);

// Joins the sorted addresses of two families into one list. The family whose first address is better comes first (RFC
// 6724 6, rules 1, 2, 5, 6 and 8). Asks the kernel for the source address of both first addresses: at most eight system
// calls, and no packet.
std::vector<SocketAddress> join_families(std::vector<SocketAddress> first, std::vector<SocketAddress> second);

}  // namespace peal::detail
