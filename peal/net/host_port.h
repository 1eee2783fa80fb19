// SPDX-License-Identifier: BSD-3-Clause
// HostPort: a host (a name or an IP address) and a port, as a plain value.
//
// Use a HostPort for a host that a peer, a URL or a message names. SocketAddress::parse() would take "unix:8080" for a
// file; a HostPort never means a unix socket, whatever its host says.
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
  // Splits a text such as "example.org:80".
  //
  // Errors:
  //   Trouble::kNoHost      the text is a port alone
  //   Trouble::kNoPort      the text has no colon
  //   Trouble::kBadAddress  is_host_name() is false for the host
  //   Trouble::kBadPort     the port is not a number up to 65535
  static Result<HostPort> parse(std::string_view text);

  // Returns the address if the host is an IP address, and an unset address if the host is a name. Fails with
  // Trouble::kNoHost if the host is empty, or kBadAddress if it is neither an IP address nor a name.
  Result<SocketAddress> literal() const;
  // Returns the host and the port as a text, for example "example.org:80" or "[::1]:80".
  std::string to_string() const;

  std::string host;  // an IPv6 address may have brackets
  uint16_t port = 0;
};

}  // namespace peal
