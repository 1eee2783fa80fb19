// SPDX-License-Identifier: BSD-3-Clause
// Small looks at the text of requests and answers. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <peal/wire/http/http_field.h>

namespace peal::detail {

// How many of `bytes` complete the head that begins in `before`; 0: it does not end in them.
inline size_t head_bytes(std::string_view before, std::string_view bytes) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  // Where the end straddles.
  std::string edge(before.substr(before.size() - std::min(before.size(), kEnd.size() - 1)));
  const size_t kept = edge.size();
  edge += bytes.substr(0, kEnd.size() - 1);
  if (const size_t at = edge.find(kEnd); at != edge.npos) return at + kEnd.size() - kept;
  const size_t at = bytes.find(kEnd);
  return at == bytes.npos ? 0 : at + kEnd.size();
}

// Whether the head that begins so is an interim answer's: a status of 1xx but 101, which is final (RFC 9110 15.2).
// False while the status is not there.
inline bool begins_interim(std::string_view head) {
  constexpr size_t kStatusAt = 9;  // behind "HTTP/1.1 "
  const std::string_view status = head.substr(std::min(head.size(), kStatusAt), 3);
  return status.size() == 3 && status.front() == '1' && status != "101";
}

// Whether the value of a Connection field has "close" among its options.
inline bool mentions_close(std::string_view value) {
  for (std::string_view option; next_list_element(value, option);) {
    if (same_field_name(option, "close")) return true;
  }
  return false;
}

}  // namespace peal::detail
