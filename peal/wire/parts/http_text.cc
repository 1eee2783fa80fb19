// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/parts/http_text.h>

#include <algorithm>
#include <array>

namespace peal::detail {
namespace {

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (const char byte :
       std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(byte)] = true;
  }
  return table;
}
constexpr std::array<bool, 256> kTokenTable = make_token_table();

}  // namespace

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char byte) { return kTokenTable[static_cast<uint8_t>(byte)]; });
}

bool next_element(std::string_view& list, std::string_view& element) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    element = trim(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (!element.empty()) return true;
  }
  return false;
}

HttpParseError split_field_line(std::string_view line, HttpField& field) {
  if (!ends_in_crlf(line)) return HttpParseError::kBadLineEnd;
  line.remove_suffix(2);
  const size_t colon = line.find(':');
  // A name that is a token leaves no room for a folded line or a space before the colon.
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return HttpParseError::kBadHeader;
  if (std::ranges::any_of(line.substr(colon), is_control)) return HttpParseError::kBadHeader;
  field = {line.substr(0, colon), trim(line.substr(colon + 1))};
  return HttpParseError::kNone;
}

}  // namespace peal::detail
