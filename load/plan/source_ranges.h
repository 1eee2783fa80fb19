// SPDX-License-Identifier: BSD-3-Clause
// The local addresses that a run connects from. From one address, only about 28,000 connections to the same target are
// possible, because each connection needs a port of its own. Several addresses allow more. They are written as:
//
//   127.0.0.2,127.0.0.5      these addresses
//   127.0.0.2-127.0.0.40     from the first to the last
//   10.0.0.0/28              all addresses of a block, including the first and the last
//   fd00::1-fd00::ff         the same for IPv6, without brackets; single addresses may have a zone (fe80::1%eth0)
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/socket_address.h>

namespace peal::load {

inline constexpr size_t kMostSources = 65'536;

// Parses a list of IP addresses and address ranges. Returns all addresses in the order of the text. The port of each
// returned address is 0, so the kernel chooses a port for each connection. If the text is not valid, returns a sentence
// that says why.
std::expected<std::vector<SocketAddress>, std::string> parse_source_ranges(std::string_view text);

}  // namespace peal::load
