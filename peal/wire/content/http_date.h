// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads the dates of HTTP fields (RFC 9110 5.6.7). Times are Unix seconds: seconds since 1970-01-01 00:00:00
// UTC. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace peal {

// The length of every date that format_http_date() writes.
inline constexpr size_t kHttpDateBytes = 29;

// Writes the date as IMF-fixdate, "Sun, 06 Nov 1994 08:49:37 GMT", the only form that may be sent. A time before the
// year 0 or after the year 9999 is written as the nearest second of these years. The array has no NUL at its end.
std::array<char, kHttpDateBytes> format_http_date(int64_t unix_seconds);

// Reads a date in any of the three forms that a recipient must accept: IMF-fixdate, the form of RFC 850 and the form of
// asctime(). Upper and lower case must be as RFC 9110 writes them. The text must name a day of the week, but that day
// is not compared with the date. Returns nullopt for any other text and for a date or time that does not exist.
//
// The form of RFC 850 has a year of two digits. They mean the latest year with these digits that is at most fifty years
// after `now_unix_seconds`.
std::optional<int64_t> parse_http_date(std::string_view text, int64_t now_unix_seconds);

}  // namespace peal
