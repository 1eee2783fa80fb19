// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_field.h>

#include <algorithm>

#include <peal/base/ascii.h>
#include <peal/wire/parts/byte_scan.h>
#include <peal/wire/parts/http_text.h>

namespace peal {

bool is_sendable(const HttpField& field) {
  return !field.name.empty() && detail::all_in(detail::kTokenBytes, field.name) &&
         detail::none_in(detail::kControlBytes, field.value);
}

bool next_http_field(std::string_view& lines, HttpField& field) {
  const size_t colon = lines.find(':');
  const size_t end = lines.find("\r\n");
  if (colon == std::string_view::npos || end == std::string_view::npos || colon > end) return false;
  field = {lines.substr(0, colon), detail::trim(lines.substr(colon + 1, end - colon - 1))};
  lines.remove_prefix(end + 2);
  return true;
}

bool next_list_element(std::string_view& list, std::string_view& element) {
  while (!list.empty()) {
    size_t end = 0;
    for (bool quoted = false; end < list.size() && (quoted || list[end] != ','); ++end) {
      if (list[end] == '"') quoted = !quoted;
      if (quoted && list[end] == '\\') ++end;
    }
    end = std::min(end, list.size());
    element = detail::trim(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    if (!element.empty()) return true;
  }
  return false;
}

HttpParseError split_field_line(std::string_view line, HttpField& field) {
  if (!detail::ends_in_crlf(line)) return HttpParseError::kBadLineEnd;
  line.remove_suffix(2);
  const size_t colon = line.find(':');
  // A token contains no white space. So this check also refuses a folded line and a space before the colon.
  if (colon == std::string_view::npos || !detail::is_token(line.substr(0, colon))) return HttpParseError::kBadHeader;
  if (std::ranges::any_of(line.substr(colon), detail::is_control)) return HttpParseError::kBadHeader;
  field = {line.substr(0, colon), detail::trim(line.substr(colon + 1))};
  return HttpParseError::kNone;
}

bool same_field_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](char byte) { return to_lower(byte); }, [](char byte) { return to_lower(byte); });
}

}  // namespace peal
