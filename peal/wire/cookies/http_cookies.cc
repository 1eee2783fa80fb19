// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/cookies/http_cookies.h>

#include <algorithm>

#include <peal/wire/parts/http_text.h>

namespace peal {

HttpCookies::Iterator& HttpCookies::Iterator::operator++() {
  while (!rest_.empty()) {
    const size_t end = std::min(rest_.find(';'), rest_.size());
    const std::string_view piece = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    const size_t equals = piece.find('=');
    if (equals == std::string_view::npos) continue;
    cookie_ = {detail::trim(piece.substr(0, equals)), detail::trim(piece.substr(equals + 1))};
    if (!cookie_.name.empty()) return *this;
  }
  done_ = true;
  return *this;
}

std::optional<std::string_view> HttpCookies::find(std::string_view name) const {
  for (const HttpCookie& cookie : *this) {
    if (cookie.name == name) return cookie.value;
  }
  return std::nullopt;
}

}  // namespace peal
