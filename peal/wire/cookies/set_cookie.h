// SPDX-License-Identifier: BSD-3-Clause
// SetCookie: a cookie with its attributes. compose_set_cookie() writes the value of a Set-Cookie field for a server,
// and parse_set_cookie() reads such a value for a client (RFC 6265bis). No I/O; any thread.
//
//   compose_set_cookie({.name = "__Host-session", .value = id, .max_age_seconds = 3600, .secure = true});
//
// The defaults are safe:
// - The cookie is for every path of the host that set it, and for no other host.
// - Scripts cannot read the cookie (HttpOnly).
// - Requests that other sites cause do not carry the cookie, except when the user follows a link (SameSite=Lax).
// - The browser forgets the cookie at the end of its session.
//
// `secure` is off by default, because a browser drops a cookie with Secure that arrives over plain HTTP. Set `secure`
// on a server that clients reach over HTTPS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

// Says whether the browser sends the cookie with requests that another site has caused.
enum class SameSite : uint8_t {
  kUnset,   // the browser's default: Lax, although some browsers send a new cookie with POST as well
  kLax,     // sent only when the user follows a link
  kStrict,  // never sent
  kNone,    // always sent; needs `secure`
};

// The largest size of a cookie's name and value together, in bytes (RFC 6265bis 5.6).
inline constexpr size_t kCookieBytesMax = 4096;

// The largest size of the value of one attribute, in bytes (RFC 6265bis 5.6).
inline constexpr size_t kCookieAttributeBytesMax = 1024;

// The longest time that a user agent keeps a cookie: 400 days (RFC 6265bis 5.5).
inline constexpr int64_t kCookieAgeMaxSeconds = int64_t{400} * 24 * 3600;

struct SetCookie {
  // A token (RFC 9110 5.6.2). Upper and lower case differ.
  std::string name;

  // The value may have visible ASCII without quotes, commas, semicolons and backslashes. One pair of quotes may enclose
  // it. A value with other bytes must be encoded, in base64 for example.
  std::string value;

  // The browser sends the cookie with requests for this path and for the paths below it. If `path` is empty, the
  // browser uses the directory of the request's path (RFC 6265bis 5.1.4).
  std::string path = "/";

  // The browser sends the cookie to this host and to all its subdomains, even to those that others run. If `domain` is
  // empty, the browser sends the cookie only to the host that set it.
  std::string domain = {};

  // How long the user agent keeps the cookie; 0 or less deletes the cookie. Overrides `expires_unix_seconds`. If
  // neither of the two is set, the user agent keeps the cookie until its session ends.
  std::optional<int64_t> max_age_seconds = {};

  // The time at which the user agent drops the cookie.
  std::optional<int64_t> expires_unix_seconds = {};

  bool secure = false;    // true if the browser sends the cookie only over TLS
  bool http_only = true;  // true if scripts cannot read the cookie
  SameSite same_site = SameSite::kLax;

  // True if the browser keeps a separate cookie for each site that embeds this one (CHIPS). Needs `secure`.
  bool partitioned = false;

  // Returns a cookie that deletes an earlier cookie. The name, path and domain must be those of the earlier cookie.
  static SetCookie deletion(std::string_view name, std::string_view path = "/", std::string_view domain = {});

  // Returns the time at which the cookie expires, at most 400 days after `now_unix_seconds`. The time is in the past if
  // the cookie is a deletion. Returns nullopt if the cookie lasts until the end of the session.
  std::optional<int64_t> expiry_unix_seconds(int64_t now_unix_seconds) const;
};

// Returns the value of a Set-Cookie field. Throws std::invalid_argument with an explanation if browsers would not
// accept the cookie:
// - `name` is not a token, or `value` has bytes that SetCookie::value does not allow;
// - `name` and `value` together exceed kCookieBytesMax;
// - `path` does not begin with a slash, exceeds kCookieAttributeBytesMax, or has a semicolon, a control or a byte
//   beyond ASCII in it;
// - `domain` is not a host name or exceeds kCookieAttributeBytesMax;
// - `secure` is false, but `same_site` is kNone, `partitioned` is true, or `name` begins with "__Secure-";
// - `name` begins with "__Host-", but `secure` is false, `domain` is not empty, or `path` is not "/".
//
// The case of letters in the two prefixes of `name` does not matter.
std::string compose_set_cookie(const SetCookie& cookie);

// Reads the value of a Set-Cookie field as user agents do (RFC 6265bis 5.6): nearly any text is accepted. Attributes
// that are unknown, malformed or longer than kCookieAttributeBytesMax are ignored. Attributes that are absent are
// false, empty or kUnset, unlike the defaults of SetCookie. `path` is empty if the field names no path that begins with
// a slash. `domain` is in lower case, without a dot in front. The name may be empty.
//
// Returns nullopt for a cookie that user agents ignore on every host (RFC 6265bis 5.7):
// - the field has a control other than HTAB in it;
// - the name and the value together exceed kCookieBytesMax, or both are empty;
// - the cookie breaks a rule of compose_set_cookie() about kNone, "__Secure-" or "__Host-";
// - the name is empty and the value begins with "__Secure-" or "__Host-".
//
// The caller, who knows the URL, must check whether the host may set this domain, and whether `secure` may be set over
// this connection.
std::optional<SetCookie> parse_set_cookie(std::string_view field_value);

}  // namespace peal
