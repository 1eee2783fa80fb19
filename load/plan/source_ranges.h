// SPDX-License-Identifier: BSD-3-Clause
// The addresses a run connects from. One address reaches one target through some 28,000 ports; several go further.
//
//   127.0.0.2,127.0.0.5      these
//   127.0.0.2-127.0.0.40     from the first to the last
//   10.0.0.0/28              all of a block, its first and last address included
//   fd00::1-fd00::ff         IPv6 likewise, without brackets; a zone (fe80::1%eth0) on single addresses
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/socket_address.h>

namespace peal::load {

inline constexpr size_t kMostSources = 65'536;

// In the order of the text, with port 0: the kernel chooses. The error is one sentence.
std::expected<std::vector<SocketAddress>, std::string> parse_source_ranges(std::string_view text);

}  // namespace peal::load
