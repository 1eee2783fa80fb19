// SPDX-License-Identifier: BSD-3-Clause
// HttpUrl: an absolute http or https URL (RFC 3986, RFC 9110 4.2) taken apart into what a client needs: where to
// connect and what to ask for. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace peal {

struct HttpUrl {
  std::string scheme;  // "http" or "https"
  std::string host;    // a name in lower case, or an address; an IPv6 address without its brackets
  uint16_t port = 0;   // 80 or 443 unless the URL says another
  std::string target;  // path and query as written, to be sent as they are; "/" at least

  // `http://host[:port][/path][?query][#fragment]`, the scheme in any case. The fragment is dropped: it is not sent
  // (RFC 9110 4.2.5). Refused, with a sentence that names the trouble: user information (RFC 9110 4.2.4), an empty
  // host, a port outside 1 to 65535, an IPv6 zone, and whatever is not visible ASCII.
  static std::expected<HttpUrl, std::string> parse(std::string_view text);
  // What a reference found at this URL means, the value of a Location field say: absolute, or relative to it, without
  // its "." and ".." (RFC 3986 5.2). Many servers write names as they are, so what no URL has (spaces, bytes beyond
  // ASCII, quotes, braces) is percent-encoded in the path and the query, as browsers and curl do it; spaces around the
  // reference are dropped. In the host such bytes are refused (a name in another script is written "xn--...", RFC
  // 5891), and controls everywhere.
  std::expected<HttpUrl, std::string> resolve(std::string_view reference) const;

  bool is_https() const { return scheme == "https"; }
  bool is_default_port() const { return port == (is_https() ? 443 : 80); }
  // Scheme, host and port (RFC 9110 4.3.1).
  bool is_same_origin(const HttpUrl& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
  // As an authority, with brackets where the host has a colon and without the scheme's own port: the value of a Host
  // field (RFC 9112 3.2).
  std::string authority() const;
  // The same always with its port: the target of CONNECT (RFC 9112 3.2.3).
  std::string host_and_port() const;
  std::string to_string() const { return scheme + "://" + authority() + target; }
};

}  // namespace peal
