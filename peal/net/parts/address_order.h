// SPDX-License-Identifier: BSD-3-Clause
// Which family of a name's addresses comes first. c-ares sorts the answer to one question; A and AAAA are two.
#pragma once

#include <vector>

#include <peal/base/socket_address.h>

namespace peal::detail {

// Joins the addresses of the two families, each sorted already. The family with the better first address comes first
// (RFC 6724 6, rules 1, 2, 5, 6 and 8). Asks the kernel for the source address of both: eight system calls at most, and
// no packet is sent.
std::vector<SocketAddress> join_families(std::vector<SocketAddress> first, std::vector<SocketAddress> second);

}  // namespace peal::detail
