// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/host_port.h>

#include <peal/wire/parse_text.h>

namespace peal {

Result<HostPort> HostPort::parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  const size_t before_port = colon == text.npos ? 0 : colon + 1;
  if (before_port <= 1 && parse_text<uint16_t>(text.substr(before_port))) return fail(Trouble::kNoHost);
  if (colon == text.npos) return fail(Trouble::kNoPort);
  HostPort parts(std::string(text.substr(0, colon)), 0);
  if (!is_host_name(parts.host)) return fail(Trouble::kBadAddress);
  const auto port = parse_text<uint16_t>(text.substr(colon + 1));
  if (!port) return fail(Trouble::kBadPort);
  parts.port = *port;
  return parts;
}

// to_string() puts brackets around a host that contains a colon. So the text that parse() reads never begins with
// "unix:".
Result<SocketAddress> HostPort::literal() const {
  if (is_host_name(host)) return SocketAddress();
  return SocketAddress::parse(to_string());
}

std::string HostPort::to_string() const {
  const bool bare_v6 = host.contains(':') && !host.starts_with('[');
  return (bare_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace peal
