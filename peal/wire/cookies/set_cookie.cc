// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/cookies/set_cookie.h>

#include <algorithm>

#include <fmt/format.h>

#include <peal/base/ascii.h>
#include <peal/base/bad_value.h>
#include <peal/wire/content/http_date.h>
#include <peal/wire/cookies/cookie_date.h>
#include <peal/wire/parts/byte_scan.h>
#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

constexpr std::string_view kSecurePrefix = "__secure-";
constexpr std::string_view kHostPrefix = "__host-";
// The bytes that are allowed in a cookie's value (kCookieBytes), in its path (kPathBytes) and in its domain
// (kDomainBytes). kForbiddenBytes has the bytes that are allowed nowhere in a Set-Cookie field.
constexpr detail::ByteClass kCookieBytes = detail::ByteClass::range(0x21, 0x7e).without("\",;\\");
constexpr detail::ByteClass kPathBytes = detail::ByteClass::range(0x20, 0x7e).without(";");
constexpr detail::ByteClass kDomainBytes = detail::ByteClass().with(detail::kLettersAndDigits).with("-._");
constexpr detail::ByteClass kForbiddenBytes = detail::ByteClass::range(0, 0x1f).without("\t").with("\x7f");

// True if the text begins with `lower`, which is in lower case. The case of letters in the text does not matter.
bool has_prefix(std::string_view text, std::string_view lower) {
  return to_lower(text.substr(0, lower.size())) == lower;
}

// Checks the rules that compose_set_cookie() and parse_set_cookie() both enforce. Returns the first rule that the
// cookie breaks, or an empty view if it breaks none.
std::string_view broken_rule(const SetCookie& cookie) {
  if (cookie.same_site == SameSite::kNone && !cookie.secure) return "SameSite=None needs Secure";
  if (has_prefix(cookie.name, kSecurePrefix) && !cookie.secure) return "the prefix __Secure- needs Secure";
  if (has_prefix(cookie.name, kHostPrefix) && (!cookie.secure || !cookie.domain.empty() || cookie.path != "/"))
    return "the prefix __Host- needs Secure, Path=/ and no Domain";
  return {};
}

bool is_cookie_value(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
  return detail::all_in(kCookieBytes, value);
}

bool is_domain(std::string_view domain) {
  return domain.size() <= kCookieAttributeBytesMax && detail::all_in(kDomainBytes, domain) && domain.front() != '.' &&
         domain.back() != '.';
}

// Throws std::invalid_argument if compose_set_cookie() must refuse the cookie. The messages do not show the value,
// because a value may be secret.
void check_cookie(const SetCookie& cookie) {
  if (!detail::is_token(cookie.name))
    throw_bad_value("the cookie name of {} bytes is not a token (RFC 9110 5.6.2)", cookie.name.size());
  if (!is_cookie_value(cookie.value))
    throw_bad_value("the value of cookie {} has bytes that a cookie cannot carry; encode it", cookie.name);
  if (const size_t bytes = cookie.name.size() + cookie.value.size(); bytes > kCookieBytesMax)
    throw_bad_value("the name and value of a cookie take {} bytes, of at most {}", bytes, kCookieBytesMax);
  if (!cookie.path.empty() && (cookie.path.front() != '/' || cookie.path.size() > kCookieAttributeBytesMax ||
                               !detail::all_in(kPathBytes, cookie.path)))
    throw_bad_value("the path of cookie {} must begin with '/' and be at most {} bytes of printable ASCII without ';'",
                    cookie.name, kCookieAttributeBytesMax);
  if (!cookie.domain.empty() && !is_domain(cookie.domain))
    throw_bad_value("the domain of cookie {} is not a host name of at most {} bytes", cookie.name,
                    kCookieAttributeBytesMax);
  if (const std::string_view trouble = broken_rule(cookie); !trouble.empty())
    throw_bad_value("cookie {}: {}", cookie.name, trouble);
  if (cookie.partitioned && !cookie.secure) throw_bad_value("cookie {}: Partitioned needs Secure", cookie.name);
}

std::string_view to_string(SameSite same_site) {
  switch (same_site) {
    case SameSite::kUnset: break;
    case SameSite::kLax: return "Lax";
    case SameSite::kStrict: return "Strict";
    case SameSite::kNone: return "None";
  }
  return {};
}

// Reads the value of a Max-Age attribute (RFC 6265bis 5.6.2). Returns 0 for a negative number, at most
// kCookieAgeMaxSeconds for any other, and nullopt if the text is not a number.
std::optional<int64_t> read_max_age(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || !std::ranges::all_of(text, detail::is_digit)) return std::nullopt;
  if (negative) return 0;
  int64_t seconds = 0;
  for (const char digit : text) seconds = std::min(seconds * 10 + (digit - '0'), kCookieAgeMaxSeconds);
  return seconds;
}

// Stores one attribute in the cookie. An unknown or malformed attribute is ignored.
void take_attribute(SetCookie& cookie, std::string_view name, std::string_view value) {
  using detail::equals_lower;
  if (value.size() > kCookieAttributeBytesMax) return;
  if (equals_lower(name, "expires")) {
    if (const std::optional<int64_t> date = parse_cookie_date(value)) cookie.expires_unix_seconds = date;
  } else if (equals_lower(name, "max-age")) {
    if (const std::optional<int64_t> seconds = read_max_age(value)) cookie.max_age_seconds = seconds;
  } else if (equals_lower(name, "domain")) {
    if (value.starts_with('.')) value.remove_prefix(1);
    cookie.domain = to_lower(value);
  } else if (equals_lower(name, "path")) {
    cookie.path = value.starts_with('/') ? value : std::string_view();
  } else if (equals_lower(name, "secure")) {
    cookie.secure = true;
  } else if (equals_lower(name, "httponly")) {
    cookie.http_only = true;
  } else if (equals_lower(name, "samesite")) {
    cookie.same_site = equals_lower(value, "lax")      ? SameSite::kLax
                       : equals_lower(value, "strict") ? SameSite::kStrict
                       : equals_lower(value, "none")   ? SameSite::kNone
                                                       : SameSite::kUnset;
  } else if (equals_lower(name, "partitioned")) {
    cookie.partitioned = true;
  }
}

// One part of a Set-Cookie field: the text between two semicolons.
struct Piece {
  std::string_view name;  // the whole text if it has no '='
  std::string_view value;
  bool has_equals = false;
};

// Reads the text before the next semicolon, and removes the text and the semicolon from `rest`. Blanks around the name
// and the value are dropped.
Piece take_piece(std::string_view& rest) {
  const size_t end = std::min(rest.find(';'), rest.size());
  const std::string_view text = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {.name = detail::trim(text)};
  return {detail::trim(text.substr(0, equals)), detail::trim(text.substr(equals + 1)), true};
}

}  // namespace

SetCookie SetCookie::deletion(std::string_view name, std::string_view path, std::string_view domain) {
  return {.name = std::string(name),
          .path = std::string(path),
          .domain = std::string(domain),
          .max_age_seconds = 0,
          .expires_unix_seconds = 0,
          .secure = has_prefix(name, kSecurePrefix) || has_prefix(name, kHostPrefix)};
}

std::optional<int64_t> SetCookie::expiry_unix_seconds(int64_t now_unix_seconds) const {
  const int64_t latest = now_unix_seconds + kCookieAgeMaxSeconds;
  if (max_age_seconds) {
    if (*max_age_seconds <= 0) return INT64_MIN;
    return std::min(*max_age_seconds, kCookieAgeMaxSeconds) + now_unix_seconds;
  }
  if (expires_unix_seconds) return std::min(*expires_unix_seconds, latest);
  return std::nullopt;
}

std::string compose_set_cookie(const SetCookie& cookie) {
  check_cookie(cookie);
  std::string text = fmt::format("{}={}", cookie.name, cookie.value);
  if (!cookie.path.empty()) text.append("; Path=").append(cookie.path);
  if (!cookie.domain.empty()) text.append("; Domain=").append(cookie.domain);
  if (cookie.max_age_seconds) text += fmt::format("; Max-Age={}", std::max<int64_t>(*cookie.max_age_seconds, 0));
  if (cookie.expires_unix_seconds) {
    const auto date = format_http_date(*cookie.expires_unix_seconds);
    text.append("; Expires=").append(date.data(), date.size());
  }
  if (cookie.secure) text.append("; Secure");
  if (cookie.http_only) text.append("; HttpOnly");
  if (const std::string_view same_site = to_string(cookie.same_site); !same_site.empty())
    text.append("; SameSite=").append(same_site);
  if (cookie.partitioned) text.append("; Partitioned");
  return text;
}

std::optional<SetCookie> parse_set_cookie(std::string_view field_value) {
  if (!detail::none_in(kForbiddenBytes, field_value)) return std::nullopt;
  SetCookie cookie{.path = {}, .http_only = false, .same_site = SameSite::kUnset};
  const Piece pair = take_piece(field_value);
  cookie.name = pair.has_equals ? pair.name : std::string_view();
  cookie.value = pair.has_equals ? pair.value : pair.name;  // without '=' the text is the value
  if (cookie.name.size() + cookie.value.size() > kCookieBytesMax) return std::nullopt;
  while (!field_value.empty()) {
    const Piece attribute = take_piece(field_value);
    take_attribute(cookie, attribute.name, attribute.value);
  }
  if (cookie.name.empty()) {
    // A cookie without a name is sent back as its value only. The value "__Host-a=b" would look to the server like a
    // cookie of that name, for which browsers enforce rules.
    if (cookie.value.empty() || has_prefix(cookie.value, kSecurePrefix) || has_prefix(cookie.value, kHostPrefix))
      return std::nullopt;
  }
  if (!broken_rule(cookie).empty()) return std::nullopt;
  return cookie;
}

}  // namespace peal
