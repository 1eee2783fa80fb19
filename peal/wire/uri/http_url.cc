// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/uri/http_url.h>

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <peal/base/ascii.h>
#include <peal/wire/parse_text.h>
#include <peal/wire/parts/byte_class.h>
#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

using Unexpected = std::unexpected<std::string>;
using Outcome = std::expected<void, std::string>;

bool is_visible_ascii(char byte) { return byte > ' ' && byte < '\x7f'; }

// Reads the port after the colon: port = *DIGIT (RFC 3986 3.2.3). If the text is empty, the URL keeps the default port
// of its scheme.
Outcome parse_port(std::string_view text, HttpUrl& url) {
  if (text.empty()) return {};
  url.port = parse_text<uint16_t>(text).value_or(0);
  if (url.port == 0) return Unexpected(fmt::format("the port \"{}\" is not a number from 1 to 65535", text));
  return {};
}

// Reads an IPv6 address in brackets and the port after it: IP-literal = "[" IPv6address "]" (RFC 3986 3.2.2). Zones
// (RFC 6874) and the IPvFuture form are errors.
Outcome parse_literal(std::string_view authority, HttpUrl& url) {
  const size_t bracket = authority.find(']');
  if (bracket == std::string_view::npos) return Unexpected("the address lacks its closing bracket");
  url.host = to_lower(authority.substr(1, bracket - 1));
  in6_addr address;
  if (inet_pton(AF_INET6, url.host.c_str(), &address) != 1) {
    return Unexpected(fmt::format("\"{}\" is not an IPv6 address", url.host));
  }
  const std::string_view after = authority.substr(bracket + 1);
  if (after.empty()) return {};
  if (after.front() != ':')
    return Unexpected(fmt::format("\"{}\" follows the address, where only ':' and a port may stand", after));
  return parse_port(after.substr(1), url);
}

// True for a character of a host name or an IPv4 address: reg-name or IPv4address (RFC 3986 3.2.2). These are
// unreserved characters, sub-delims and the '%' of escapes.
bool is_host_character(char byte) {
  const char letter = to_lower(byte);
  return (letter >= 'a' && letter <= 'z') || (byte >= '0' && byte <= '9') ||
         std::string_view("-._~!$&'()*+,;=%").contains(byte);
}

// Reads the host and the port into `url`: authority = [userinfo "@"] host [":" port] (RFC 3986 3.2).
Outcome parse_authority(std::string_view authority, HttpUrl& url) {
  if (authority.contains('@')) {
    return Unexpected("a user name or password in the URL is refused; send it in a header");
  }
  if (authority.starts_with('[')) return parse_literal(authority, url);
  const size_t colon = std::min(authority.find(':'), authority.size());
  if (authority.substr(std::min(colon + 1, authority.size())).contains(':')) {
    return Unexpected("the host has more than one colon; an IPv6 address is written in brackets");
  }
  const std::string_view host = authority.substr(0, colon);
  if (host.empty()) return Unexpected("the URL names no host");
  if (const auto* odd = std::ranges::find_if_not(host, is_host_character); odd != host.end()) {
    return Unexpected(fmt::format("the host \"{}\" has '{}' in it", host, *odd));
  }
  url.host = to_lower(host);
  return colon == authority.size() ? Outcome() : parse_port(authority.substr(colon + 1), url);
}

// True if the reference begins with a scheme (RFC 3986 3.1). Such a reference does not depend on the URL where it was
// found.
bool is_absolute(std::string_view reference) {
  static constexpr detail::ByteClass kSchemeBytes = detail::ByteClass().with(detail::kLettersAndDigits).with("+-.");
  const size_t end = reference.find(':');
  if (end == std::string_view::npos || end == 0) return false;
  const char first = to_lower(reference.front());
  return first >= 'a' && first <= 'z' &&
         std::ranges::all_of(reference.substr(0, end), [](char byte) { return kSchemeBytes.contains(byte); });
}

// Returns the path with its "." and ".." segments resolved (RFC 3986 5.2.4). A ".." at the root is dropped.
std::string remove_dot_segments(std::string_view path) {
  std::string clean;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    if (segment == "/.." && !clean.empty()) clean.erase(clean.rfind('/'));
    if (segment != "/." && segment != "/..") {
      clean += segment;
    } else if (path.empty()) {
      clean += '/';
    }
  }
  return clean;
}

// Percent-encodes the bytes that no URL may have (RFC 3986 2), such as spaces, quotes, braces and bytes beyond ASCII.
// Controls stay as they are, so that parse() refuses them.
std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    if (detail::kTargetBytes.contains(byte) || detail::kControlBytes.contains(byte) || byte == '\t') {
      out += byte;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return out;
}

// Returns the request target for the path and the query of a reference. Resolves "." and ".." segments, and
// percent-encodes the bytes that no URL may have.
std::string target_of(std::string_view text) {
  const size_t query = std::min(text.find('?'), text.size());
  return percent_encoded(remove_dot_segments(text.substr(0, query))) + percent_encoded(text.substr(query));
}

}  // namespace

std::expected<HttpUrl, std::string> HttpUrl::resolve(std::string_view reference) const {
  reference = detail::trim(reference.substr(0, reference.find('#')));
  if (reference.empty()) return *this;
  const size_t scheme_end = is_absolute(reference) ? reference.find(':') + 1 : 0;
  const std::string_view rest = reference.substr(scheme_end);
  if (rest.starts_with("//")) {
    const std::string its_scheme(scheme_end > 0 ? reference.substr(0, scheme_end) : scheme + ":");
    const size_t path = std::min(rest.find_first_of("/?", 2), rest.size());
    return parse(its_scheme + std::string(rest.substr(0, path)) + target_of(rest.substr(path)));
  }
  if (scheme_end > 0) return parse(reference);  // fails, because "//" must follow the scheme
  const std::string prefix = scheme + "://" + authority();
  const std::string_view base = std::string_view(target).substr(0, target.find('?'));
  if (rest.starts_with('?')) return parse(prefix + std::string(base) + percent_encoded(rest));
  if (rest.starts_with('/')) return parse(prefix + target_of(rest));
  return parse(prefix + target_of(std::string(base.substr(0, base.rfind('/') + 1)).append(rest)));
}

std::expected<HttpUrl, std::string> HttpUrl::parse(std::string_view text) {
  if (const auto* odd = std::ranges::find_if_not(text, is_visible_ascii); odd != text.end()) {
    return Unexpected(fmt::format("byte {} of the URL is 0x{:02x}, which must be percent-encoded",
                                  odd - text.begin() + 1, static_cast<unsigned char>(*odd)));
  }
  const size_t mark = text.find("://");
  HttpUrl url;
  if (mark != std::string_view::npos) url.scheme = to_lower(text.substr(0, mark));  // RFC 3986 3.1
  if (url.scheme != "http" && url.scheme != "https") return Unexpected("the URL must begin with http:// or https://");
  url.port = url.is_https() ? 443 : 80;
  std::string_view rest = text.substr(mark + 3);
  rest = rest.substr(0, rest.find('#'));  // the fragment (RFC 3986 3.5)
  const size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  // The path and the query may have any visible ASCII. RFC 3986 3.3 requires that brackets and some other characters
  // are encoded. But a client that tests a server must be able to send them as written.
  const std::string_view target = rest.substr(slash);
  url.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  if (Outcome authority = parse_authority(rest.substr(0, slash), url); !authority) {
    return Unexpected(std::move(authority.error()));
  }
  return url;
}

std::string HttpUrl::authority() const {
  std::string text = host.contains(':') ? "[" + host + "]" : host;
  if (!is_default_port()) text += ":" + std::to_string(port);
  return text;
}

std::string HttpUrl::host_and_port() const {
  return is_default_port() ? authority() + ":" + std::to_string(port) : authority();
}

}  // namespace peal
