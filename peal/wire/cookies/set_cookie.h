// SPDX-License-Identifier: BSD-3-Clause
// SetCookie: the value of a Set-Cookie field (RFC 6265bis), as a server composes it and as a client reads it. Pure; any
// thread.
//
//   compose_set_cookie({.name = "__Host-session", .value = id, .max_age_seconds = 3600, .secure = true});
//
// The defaults are the safe ones: for the whole host that set it and for no other, out of reach of scripts (HttpOnly),
// not sent with what other sites ask for but for links to this one (SameSite=Lax), and forgotten with the browser's
// session. `secure` is off, since a browser drops such a cookie where it came in the clear; behind https set it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

// Whether a cookie goes with requests that another site has caused.
enum class SameSite : uint8_t {
  kUnset,   // the browser's default: Lax, but in some for POST soon after it was set
  kLax,     // when the user follows a link
  kStrict,  // never
  kNone,    // always; only with `secure`
};

// Name and value together, and each attribute's value (RFC 6265bis 5.6).
inline constexpr size_t kCookieBytesMax = 4096;
inline constexpr size_t kCookieAttributeBytesMax = 1024;
// Nothing is kept for longer (RFC 6265bis 5.5): 400 days.
inline constexpr int64_t kCookieAgeMaxSeconds = int64_t{400} * 24 * 3600;

struct SetCookie {
  std::string name;   // a token; case counts
  std::string value;  // visible ASCII but for quotes, commas, semicolons and backslashes: encode anything else
  // Sent with this path and with what lies below it. Empty: what user agents make of the request's path (5.1.4).
  std::string path = "/";
  // Sent to this host and to all below it, those of other people too. Empty: only to the host that set it.
  std::string domain = {};
  // Kept for so long; 0 or less deletes it. Counts before `expires_unix_seconds`. With neither, until the user agent's
  // session ends.
  std::optional<int64_t> max_age_seconds = {};
  std::optional<int64_t> expires_unix_seconds = {};
  bool secure = false;    // only over TLS
  bool http_only = true;  // no script sees it
  SameSite same_site = SameSite::kLax;
  bool partitioned = false;  // one for each site that embeds this one (CHIPS); only with `secure`

  // Overwrites a cookie by one that is over: it must have the name, path and domain with which that was set.
  static SetCookie deletion(std::string_view name, std::string_view path = "/", std::string_view domain = {});
  // When it is over, at most 400 days ahead: in the past for a deletion; nothing for the end of the session.
  std::optional<int64_t> expiry_unix_seconds(int64_t now_unix_seconds) const;
};

// What a browser would not take is refused, std::invalid_argument with a sentence: a name that is no token, a value
// that is not as above (it may stand in quotes), more than kCookieBytesMax; a path that does not begin with a slash or
// has a semicolon, a control or a byte beyond ASCII in it; a domain that is no name of a host; `kNone` or `partitioned`
// without `secure`; a name that begins, in any case of letters, with "__Secure-" without `secure`, or with "__Host-"
// without `secure`, with a domain or with another path than "/".
std::string compose_set_cookie(const SetCookie& cookie);

// As user agents read it (5.6): nearly anything, and unknown attributes passed over. `path` is empty where none that
// begins with a slash is given, `domain` in lower case and without the dot in front. The name may be empty. Nothing
// for what they ignore wherever it came from: controls but HTAB, more than kCookieBytesMax, neither a name nor a value,
// and what the rules above about kNone, "__Secure-" and "__Host-" forbid (5.7). Whether the host may set this domain,
// and in the clear this `secure`, is for who knows the URL.
std::optional<SetCookie> parse_set_cookie(std::string_view field_value);

}  // namespace peal
