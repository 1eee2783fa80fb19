// SPDX-License-Identifier: BSD-3-Clause
// One line of an access log in the combined format, as Apache and nginx write it:
//   127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] "GET / HTTP/1.1" 200 13 "https://example.org/" "curl/8.0"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <peal/wire/http/http_request_head.h>

namespace peal::detail {

struct AccessEntry {
  std::string_view client;                // its address, without the port
  std::string_view date;                  // "06/Nov/1994:08:49:37 +0000"
  const HttpRequestHead* head = nullptr;  // null: what came was no request
  int status = 0;
  uint64_t body_bytes = 0;
};

// Appends the line with its newline. Quotes, backslashes, controls and what is no ASCII are written as \xHH, so that no
// client can write lines of its own or upset a terminal.
void append_access_line(std::string& lines, const AccessEntry& entry);

}  // namespace peal::detail
