// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_request_head.h>

namespace peal {

std::optional<std::string_view> HttpRequestHead::find(std::string_view name) const {
  if ((said_.name_lengths >> (name.size() & 63) & 1) == 0) return std::nullopt;
  for (size_t index = 0; index < said_.field_count; ++index) {
    const FieldParts& parts = fields_[index];
    if (parts.name.bytes == name.size() && same_field_name(said(parts.name), name)) return said(parts.value);
  }
  return std::nullopt;
}

// To HTTP/1.0 the field means nothing (RFC 9110 7.8).
std::string_view HttpRequestHead::upgrade() const {
  return said_.framing.says_upgrade() && line_.minor_version >= 1 ? said(said_.upgrade) : std::string_view();
}

}  // namespace peal
