// SPDX-License-Identifier: BSD-3-Clause
// Dates as user agents read them in Set-Cookie (RFC 6265bis 5.1.1): in any order, with nearly anything between. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace peal {

// Seconds since 1970 UTC. Of two digits, 70 to 99 are of the 20th century and 00 to 69 of the 21st. Nothing where a
// part is missing, there is no such day, or the year is before 1601.
std::optional<int64_t> parse_cookie_date(std::string_view text);

}  // namespace peal
