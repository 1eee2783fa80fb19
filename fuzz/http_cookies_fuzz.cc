// SPDX-License-Identifier: BSD-3-Clause
// Cookies: what is read can be searched, what a user agent takes and a server may send reads the same again, and what a
// server composes has one line.
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
    PEAL_ASSERT(!cookie.name.empty() && cookies.find(cookie.name), "a cookie of {} bytes", cookie.name.size());
    PEAL_ASSERT(cookie.value.find(';') == std::string_view::npos, "{} has another in it", cookie.name);
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
  PEAL_ASSERT(cookie->name.size() + cookie->value.size() <= kCookieBytesMax, "{} bytes", cookie->value.size());
  PEAL_ASSERT(cookie->expiry_unix_seconds(0).value_or(0) <= kCookieAgeMaxSeconds, "kept for too long");
  std::string text;
  if (!is_composed(*cookie, text)) return;
  PEAL_ASSERT(text.find_first_of("\r\n") == std::string::npos, "{} has lines", text);
  const std::optional<SetCookie> again = parse_set_cookie(text);
  PEAL_ASSERT(again && again->name == cookie->name && again->value == cookie->value, "{} reads otherwise", text);
  // A path that ends in blanks has them no more.
  PEAL_ASSERT(cookie->path.starts_with(again->path) && again->domain == cookie->domain, "{} goes elsewhere", text);
  PEAL_ASSERT(again->max_age_seconds == cookie->max_age_seconds, "{} is kept otherwise", text);
  PEAL_ASSERT(again->secure == cookie->secure && again->http_only == cookie->http_only &&
                  again->same_site == cookie->same_site && again->partitioned == cookie->partitioned,
              "{} is less safe", text);
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string value(reinterpret_cast<const char*>(data), size);  // in memory the sanitizer guards
  peal::check_cookies(value);
  peal::check_set_cookie(value);
  // What a program might be given to send, cut where NUL stands.
  const size_t end = value.find('\0');
  if (end == std::string::npos) return 0;
  std::string text;
  if (peal::is_composed({.name = value.substr(0, end), .value = value.substr(end + 1)}, text))
    PEAL_ASSERT(peal::parse_set_cookie(text).has_value(), "{} is not taken", text);
  return 0;
}
