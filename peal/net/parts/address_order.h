// SPDX-License-Identifier: BSD-3-Clause
// In which order a name's addresses are tried (RFC 6724). A and AAAA are two questions: the answers are sorted each,
// then joined. Sources of addresses are asked of the kernel: a few system calls an address, no packet.
#pragma once

#include <vector>

#include <peal/base/socket_address.h>

namespace peal::detail {

// Addresses of one family, by RFC 6724 6, rules 1, 2, 5, 6, 8 and 9. Of more than 64 the first 64 are sorted, so that a
// long answer does not hold up the loop; the others follow as they came.
std::vector<SocketAddress> best_first(std::vector<SocketAddress> addresses);

// Joins the addresses of the two families, each sorted already. The family with the better first address comes first
// (RFC 6724 6, rules 1, 2, 5, 6 and 8). Asks the kernel for the source address of both: eight system calls at most, and
// no packet is sent.
std::vector<SocketAddress> join_families(std::vector<SocketAddress> first, std::vector<SocketAddress> second);

}  // namespace peal::detail
