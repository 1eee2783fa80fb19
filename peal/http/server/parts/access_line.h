// SPDX-License-Identifier: BSD-3-Clause
// AccessEntry: one line of an access log. HttpAccessLogFormat says how it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/http/server/http_server_options.h>
#include <peal/wire/http/http_request_head.h>

namespace peal::detail {

struct AccessEntry {
  std::string_view client;                // the client's address, without the port; "-" if it is not known
  std::string_view date;                  // as access_date() returns it
  const HttpRequestHead* head = nullptr;  // null if the client sent no valid request
  int status = 0;
  uint64_t body_bytes = 0;                // number of bytes sent of the answer's body
  std::optional<Duration> duration = {};  // from the request's head to the end of the answer; nullopt if not known
  std::optional<std::string_view> request_id = {};
};

// Returns a time, in seconds since 1970, as the log writes it. Combined: "06/Nov/1994:08:49:37 +0000". JSON: the form
// of RFC 3339, "1994-11-06T08:49:37Z".
std::string access_date(HttpAccessLogFormat format, int64_t unix_seconds);

// Appends the entry as a line with its newline.
//   - Combined: quotes, backslashes, control characters and bytes that are not ASCII are written as \xHH.
//   - JSON: an object, with strings as append_json_string() writes them. A member whose value is not known is missing.
// In both formats a client can neither add lines of its own nor disturb a terminal.
void append_access_line(std::string& lines, HttpAccessLogFormat format, const AccessEntry& entry);

}  // namespace peal::detail
