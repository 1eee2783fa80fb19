// SPDX-License-Identifier: BSD-3-Clause
// The reason phrases and status lines of the status codes that IANA has registered. Pure functions; any thread.
#pragma once

#include <string_view>

namespace peal {

// Returns the reason phrase, for example "Not Found" for 404. Returns "" for a code that is not registered; the phrase
// in a status line may be empty (RFC 9112 4).
std::string_view http_reason(int status);

// Returns the whole status line with its CR LF, for example "HTTP/1.1 404 Not Found\r\n". Returns "" for a code that is
// not registered.
std::string_view http_status_line(int status);

}  // namespace peal
