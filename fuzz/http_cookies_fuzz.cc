// SPDX-License-Identifier: BSD-3-Clause
// Cookies. A cookie that was read must be found by its name. A cookie that a user agent accepts and a server may send
// must be read as the same cookie again. What a server composes must be one line.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/cookies/http_cookies.h>
#include <peal/wire/cookies/set_cookie.h>

namespace peal {
namespace {

void check_cookies(std::string_view field_value) {
  const HttpCookies cookies(field_value);
  for (const HttpCookie& cookie : cookies) {
    PEAL_ASSERT(!cookie.name.empty() && cookies.find(cookie.name), "a cookie is not found by its name of {} bytes",
                cookie.name.size());
    PEAL_ASSERT(cookie.value.find(';') == std::string_view::npos, "the value of {} contains a semicolon", cookie.name);
  }
}

bool is_composed(const SetCookie& cookie, std::string& text) {
  try {
    text = compose_set_cookie(cookie);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

void check_set_cookie(std::string_view field_value) {
  const std::optional<SetCookie> cookie = parse_set_cookie(field_value);
  if (!cookie) return;
  PEAL_ASSERT(cookie->name.size() + cookie->value.size() <= kCookieBytesMax, "a value of {} bytes is over the limit",
              cookie->value.size());
  PEAL_ASSERT(cookie->expiry_unix_seconds(0).value_or(0) <= kCookieAgeMaxSeconds, "the cookie is kept for too long");
  std::string text;
  if (!is_composed(*cookie, text)) return;
  PEAL_ASSERT(text.find_first_of("\r\n") == std::string::npos, "{} has a line end", text);
  const std::optional<SetCookie> again = parse_set_cookie(text);
  PEAL_ASSERT(again && again->name == cookie->name && again->value == cookie->value, "{} is read as another cookie",
              text);
  // Blanks at the end of a path are not kept.
  PEAL_ASSERT(cookie->path.starts_with(again->path) && again->domain == cookie->domain, "{} has another path or domain",
              text);
  PEAL_ASSERT(again->max_age_seconds == cookie->max_age_seconds, "{} has another maximum age", text);
  PEAL_ASSERT(again->secure == cookie->secure && again->http_only == cookie->http_only &&
                  again->same_site == cookie->same_site && again->partitioned == cookie->partitioned,
              "{} has other safety attributes", text);
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy, so that the sanitizer finds reads beyond its end.
  const std::string value(reinterpret_cast<const char*>(data), size);
  peal::check_cookies(value);
  peal::check_set_cookie(value);
  // Composes a cookie from any name and value: the input is split at its first NUL.
  const size_t end = value.find('\0');
  if (end == std::string::npos) return 0;
  std::string text;
  if (peal::is_composed({.name = value.substr(0, end), .value = value.substr(end + 1)}, text))
    PEAL_ASSERT(peal::parse_set_cookie(text).has_value(), "{} is not accepted", text);
  return 0;
}
