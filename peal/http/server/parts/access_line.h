// SPDX-License-Identifier: BSD-3-Clause
// AccessEntry: one line of an access log, in the combined format of Apache and nginx:
//   127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] "GET / HTTP/1.1" 200 13 "https://example.org/" "curl/8.0"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <peal/wire/http/http_request_head.h>

namespace peal::detail {

struct AccessEntry {
  std::string_view client;                // the client's address, without the port
  std::string_view date;                  // such as "06/Nov/1994:08:49:37 +0000"
  const HttpRequestHead* head = nullptr;  // null if the client sent no valid request
  int status = 0;
  uint64_t body_bytes = 0;  // number of bytes sent of the answer's body
};

// Appends the entry as a line with its newline. Quotes, backslashes, control characters and bytes that are not ASCII
// are written as \xHH. A client can therefore neither add lines of its own nor disturb a terminal.
void append_access_line(std::string& lines, const AccessEntry& entry);

}  // namespace peal::detail
