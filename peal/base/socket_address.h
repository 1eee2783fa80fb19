// SPDX-License-Identifier: BSD-3-Clause
// SocketAddress: a numeric address of a socket, a plain value. It lives on the engine's floor because everybody who
// talks to an engine needs one, the load generator (which may not use net/) included. Names are resolved in net/.
//
// As text: "127.0.0.1:9981", "[::1]:9981", "[fe80::1%eth0]:9981", "unix:/run/peal.sock", "unix:@abstract".
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/result.h>

namespace peal {

// A host's name (RFC 1123 2.1): labels of letters, digits, hyphens and '_', at most 253 bytes. What ends in a number
// was meant as an address: a mistyped one must not become a question to DNS.
bool is_host_name(std::string_view text);
// "localhost", or a name in that domain, in any case and with or without a dot behind it: the loopback (RFC 6761 6.3).
bool is_localhost(std::string_view host);

class SocketAddress {
 public:
  // No address: is_set() is false.
  SocketAddress() = default;
  // Trouble::kBadAddress, kNameNotAddress, kNoPort, kBadPort, or kPathTooLong for a unix path of more than 107 bytes.
  static Result<SocketAddress> parse(std::string_view text);
  // The kernel's answer to getsockname(2), getpeername(2) or accept(2).
  static SocketAddress from_kernel(const sockaddr* address, socklen_t size);

  bool is_set() const { return size_ > 0; }
  sa_family_t family() const { return is_set() ? storage_.any.sa_family : sa_family_t{AF_UNSPEC}; }
  bool is_ip() const { return family() == AF_INET || family() == AF_INET6; }
  bool is_unix() const { return family() == AF_UNIX; }
  // Host byte order; 0 for a unix address.
  uint16_t port() const;
  // Of an IP address; of any other std::invalid_argument.
  void set_port(uint16_t port);
  // The path of a unix address that stands in the file system; empty for an abstract or unnamed one.
  std::string_view unix_path() const;

  // Whom an address is counted by where clients are limited: an IPv4 address without its port, also one that is mapped
  // into IPv6 (RFC 4291 2.5.5.2); of IPv6 the network (/64), since a client has all of it; all others are one.
  using ClientKey = std::array<char, 9>;
  ClientKey client_key() const;

  const sockaddr* data() const { return &storage_.any; }
  socklen_t size() const { return size_; }
  // As parse() reads it. An unset address is "", an unnamed unix one "unix:": these two parse() refuses.
  std::string to_string() const;
  bool operator==(const SocketAddress& other) const;

 private:
  union Storage {
    sockaddr_un local;
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  };
  Storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace peal
