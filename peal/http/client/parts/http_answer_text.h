// SPDX-License-Identifier: BSD-3-Clause
// Helpers that look for one thing in the text of an answer or a field: head_bytes(), begins_interim(),
// mentions_close(). They are pure functions.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <peal/wire/http/http_field.h>

namespace peal::detail {

// `before` is the part of a head that has arrived earlier. Returns how many of `bytes` belong to that head, including
// its empty line. Returns 0 if the head does not end within `bytes`.
inline size_t head_bytes(std::string_view before, std::string_view bytes) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  // First looks for an empty line that begins in `before` and ends in `bytes`.
  std::string edge(before.substr(before.size() - std::min(before.size(), kEnd.size() - 1)));
  const size_t kept = edge.size();
  edge += bytes.substr(0, kEnd.size() - 1);
  if (const size_t at = edge.find(kEnd); at != edge.npos) return at + kEnd.size() - kept;
  const size_t at = bytes.find(kEnd);
  return at == bytes.npos ? 0 : at + kEnd.size();
}

// Returns true if `head` is the beginning of an interim answer: the status is 1xx, except 101, which is final (RFC 9110
// 15.2). Returns false if the status has not arrived yet.
inline bool begins_interim(std::string_view head) {
  constexpr size_t kStatusAt = 9;  // the status follows "HTTP/1.1 "
  const std::string_view status = head.substr(std::min(head.size(), kStatusAt), 3);
  return status.size() == 3 && status.front() == '1' && status != "101";
}

// Returns true if "close" is one of the options in the value of a Connection field.
inline bool mentions_close(std::string_view value) {
  for (std::string_view option; next_list_element(value, option);) {
    if (same_field_name(option, "close")) return true;
  }
  return false;
}

}  // namespace peal::detail
