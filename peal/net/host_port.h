// SPDX-License-Identifier: BSD-3-Clause
// HostPort: a place in the network: a host's name or IP address, and a port. What a peer, a URL or a message names is
// made one of these, not a text for SocketAddress::parse(), to which "unix:8080" is a file. Whatever the host of a
// HostPort says, it is no unix socket. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <peal/base/result.h>
#include <peal/base/socket_address.h>

namespace peal {

struct HostPort {
  HostPort() = default;
  HostPort(std::string its_host, uint16_t its_port) : host(std::move(its_host)), port(its_port) {}
  // "example.org:80" in its two parts. Trouble::kBadAddress unless is_host_name(host); kNoPort, kBadPort.
  static Result<HostPort> parse(std::string_view text);

  // The address where the host is one, unset where it is a name, Trouble::kBadAddress where it is neither.
  Result<SocketAddress> literal() const;
  // "example.org:80", "[::1]:80".
  std::string to_string() const;

  std::string host;  // of an IPv6 address with or without brackets
  uint16_t port = 0;
};

}  // namespace peal
