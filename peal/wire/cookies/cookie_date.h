// SPDX-License-Identifier: BSD-3-Clause
// Reads the Expires date of a Set-Cookie field as user agents do (RFC 6265bis 5.1.1). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace peal {

// Returns the date as Unix seconds. The time, day, month and year may stand in any order. Other words between them are
// ignored, a time zone too: the time is read as UTC. A year of two digits from 70 to 99 means 1970 to 1999, and one
// from 00 to 69 means 2000 to 2069.
//
// Returns nullopt if the time, day, month or year is missing, if there is no such day or time, or if the year is before
// 1601.
std::optional<int64_t> parse_cookie_date(std::string_view text);

}  // namespace peal
