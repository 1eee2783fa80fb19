// SPDX-License-Identifier: BSD-3-Clause
// HttpUrl: the parts of an absolute http or https URL (RFC 3986, RFC 9110 4.2) that a client needs to connect and to
// send a request. No I/O; any thread.
//
//   const std::expected<HttpUrl, std::string> url = HttpUrl::parse("http://example.org:8080/a?b=1");
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace peal {

struct HttpUrl {
  std::string scheme;  // "http" or "https"
  std::string host;    // a name in lower case, an IPv4 address, or an IPv6 address without brackets
  uint16_t port = 0;   // the port of the URL, or 80 for http and 443 for https if the URL has none
  std::string target;  // the path and the query as written, ready to be sent; begins with '/'

  // Reads `http://host[:port][/path][?query][#fragment]`. The scheme may be in any case of letters. The fragment is
  // dropped, because a client does not send it (RFC 9110 4.2.5).
  //
  // Returns a message that names the error if `text` has one of these:
  // - a scheme other than http and https,
  // - a user name or password (RFC 9110 4.2.4),
  // - an empty or invalid host,
  // - a port outside 1 to 65535,
  // - an IPv6 address with a zone,
  // - a byte that is not visible ASCII.
  static std::expected<HttpUrl, std::string> parse(std::string_view text);

  // Resolves a reference that was found at this URL, for example in a Location field, and returns the resulting URL.
  // The reference may be absolute or relative; its "." and ".." segments are resolved (RFC 3986 5.2). The fragment is
  // dropped, and blanks around the reference are ignored. The errors are those of parse().
  //
  // Many servers write names into references without encoding them. Bytes that no URL may have (spaces, bytes beyond
  // ASCII, quotes, braces) are therefore percent-encoded in the path and the query, as browsers and curl do. In the
  // host such bytes are an error; a host name in another script must be written as "xn--..." (RFC 5891). Controls are
  // an error everywhere.
  std::expected<HttpUrl, std::string> resolve(std::string_view reference) const;

  bool is_https() const { return scheme == "https"; }
  bool is_default_port() const { return port == (is_https() ? 443 : 80); }

  // True if the scheme, host and port are equal (RFC 9110 4.3.1).
  bool is_same_origin(const HttpUrl& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }

  // Returns the value of a Host field (RFC 9112 3.2): the host, followed by the port if that is not the default port of
  // the scheme. An IPv6 address stands in brackets.
  std::string authority() const;

  // Returns the target of CONNECT (RFC 9112 3.2.3): the host, always followed by the port. An IPv6 address stands in
  // brackets.
  std::string host_and_port() const;

  // Returns the URL as text, without the default port and without a fragment.
  std::string to_string() const { return scheme + "://" + authority() + target; }
};

}  // namespace peal
