// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_request_head.h>

namespace peal {

size_t HttpRequestHead::find_from(size_t index, std::string_view name) const {
  if ((facts_.name_lengths >> (name.size() & 63) & 1) == 0) return facts_.field_count;
  for (; index < facts_.field_count; ++index) {
    const FieldParts& parts = fields_[index];
    if (parts.name.bytes == name.size() && same_field_name(field_text(parts.name), name)) break;
  }
  return index;
}

std::optional<std::string_view> HttpRequestHead::find(std::string_view name) const {
  const size_t index = find_from(0, name);
  if (index == facts_.field_count) return std::nullopt;
  return field_text(fields_[index].value);
}

// In a request of HTTP/1.0 the Upgrade field must be ignored (RFC 9110 7.8).
std::string_view HttpRequestHead::upgrade() const {
  return facts_.framing.says_upgrade() && request_line_.minor_version >= 1 ? field_text(facts_.upgrade)
                                                                           : std::string_view();
}

}  // namespace peal
