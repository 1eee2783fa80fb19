// SPDX-License-Identifier: BSD-3-Clause
// The status codes that IANA registers, in words. Pure; any thread.
#pragma once

#include <string_view>

namespace peal {

// "Not Found"; "" for a code that nobody registered (a reason may be empty, RFC 9112 4).
std::string_view http_reason(int status);
// "HTTP/1.1 404 Not Found" CR LF of a registered code, else "".
std::string_view http_status_line(int status);

}  // namespace peal
