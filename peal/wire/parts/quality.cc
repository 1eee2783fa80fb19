// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/parts/quality.h>

#include <algorithm>

#include <peal/wire/parts/http_text.h>

namespace peal::detail {

std::optional<int> read_quality(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  int quality = (text[0] - '0') * kFullQuality;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int place = kFullQuality / 10;
  for (const char byte : text.substr(std::min<size_t>(2, text.size()))) {
    if (!is_digit(byte)) return std::nullopt;
    quality += (byte - '0') * place;
    place /= 10;
  }
  return quality <= kFullQuality ? std::optional(quality) : std::nullopt;
}

}  // namespace peal::detail
