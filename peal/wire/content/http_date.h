// SPDX-License-Identifier: BSD-3-Clause
// Dates as HTTP's fields carry them (RFC 9110 5.6.7), as seconds since 1970 UTC. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace peal {

inline constexpr size_t kHttpDateBytes = 29;

// IMF-fixdate, "Sun, 06 Nov 1994 08:49:37 GMT": the one form that may be sent. What lies outside the years 0 to 9999
// is given as the nearest second inside.
std::array<char, kHttpDateBytes> format_http_date(int64_t unix_seconds);

// All three forms that must be understood: IMF-fixdate, that of RFC 850 and that of asctime(). Case counts; the name of
// the day must be one, but need not fit the date. A year of two digits that would lie more than fifty years after
// `now_unix_seconds` is of the century before.
std::optional<int64_t> parse_http_date(std::string_view text, int64_t now_unix_seconds);

}  // namespace peal
