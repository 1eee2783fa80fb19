// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/parts/http_target.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include <peal/wire/parts/byte_class.h>
#include <peal/wire/parts/http_text.h>

namespace peal::detail {
namespace {

// Returns the number in `digits`: 0 to 65535, or 0 if `digits` is empty. Returns -1 for any other text.
int port_of(std::string_view digits) {
  int port = 0;
  for (const char digit : digits) {
    if (!is_digit(digit)) return -1;
    port = std::min(port * 10 + (digit - '0'), 65536);
  }
  return port > 65535 ? -1 : port;
}

// Returns true for a reg-name or an IPv4address (RFC 3986 3.2.2): allowed bytes and complete percent-escapes. The empty
// text is a reg-name.
bool is_host_name(std::string_view name) {
  for (size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '%') {
      if (name.size() - at < 3 || hex_value(name[at + 1]) < 0 || hex_value(name[at + 2]) < 0) return false;
      at += 2;
    } else if (!kHostBytes.contains(name[at])) {
      return false;
    }
  }
  return true;
}

bool is_ipv6(std::string_view text) {
  char zero_terminated[INET6_ADDRSTRLEN] = {};
  in6_addr address{};
  if (text.size() >= sizeof(zero_terminated)) return false;
  std::memcpy(zero_terminated, text.data(), text.size());
  return inet_pton(AF_INET6, zero_terminated, &address) == 1;
}

}  // namespace

bool is_http_authority(std::string_view text) {
  size_t host_end = std::min(text.find(':'), text.size());
  if (text.starts_with('[')) {
    const size_t bracket = text.find(']');
    if (bracket == std::string_view::npos || !is_ipv6(text.substr(1, bracket - 1))) return false;
    host_end = bracket + 1;
  } else if (!is_host_name(text.substr(0, host_end))) {
    return false;
  }
  const std::string_view port = text.substr(host_end);
  return port.empty() || (port.front() == ':' && port_of(port.substr(1)) >= 0);
}

bool split_http_target(HttpMethod method, std::string_view target, HttpTargetParts& parts) {
  if (method == HttpMethod::kConnect) {
    // The target of CONNECT must have a port, and the port must not be 0 (RFC 9110 9.3.6).
    const size_t colon = target.rfind(':');
    parts = {.path = {}, .query = {}, .authority = target};
    return colon != std::string_view::npos && colon > 0 && is_http_authority(target) &&
           port_of(target.substr(colon + 1)) > 0;
  }
  if (target == "*") {
    parts = {.path = target, .query = {}, .authority = {}};
    return method == HttpMethod::kOptions;
  }
  const size_t mark = target.find("://");
  if (mark == std::string_view::npos) return false;
  const std::string_view scheme = target.substr(0, mark);
  if (!equals_lower(scheme, "http") && !equals_lower(scheme, "https")) return false;
  const std::string_view rest = target.substr(mark + 3);
  const size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  parts.authority = rest.substr(0, slash);
  const size_t question = std::min(rest.find('?', slash), rest.size());
  parts.path = rest.substr(slash, question - slash);
  parts.query = rest.substr(std::min(question + 1, rest.size()));
  // The host of an http URL must not be empty (RFC 9110 4.2.1). A user name before the host is refused (4.2.4), because
  // is_http_authority() does not allow '@'.
  return !parts.authority.empty() && parts.authority.front() != ':' && is_http_authority(parts.authority);
}

}  // namespace peal::detail
