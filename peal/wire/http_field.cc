// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http_field.h>

#include <algorithm>

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

bool same_field_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](char byte) { return detail::to_lower(byte); }, [](char byte) { return detail::to_lower(byte); });
}

}  // namespace peal
