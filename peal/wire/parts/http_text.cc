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

}  // namespace peal::detail
