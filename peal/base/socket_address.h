// SPDX-License-Identifier: BSD-3-Clause
// SocketAddress is the numeric address of a socket: a plain value that can be copied and used on any thread. Host names
// are resolved in net/. The class is in base/ because the engines and the load generator need it too, and these may not
// include net/.
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

// True if `text` can be a host name (RFC 1123 2.1). A name has at most 253 bytes, and its labels have 1 to 63 letters,
// digits, hyphens or '_'. A dot at the end is allowed. If the last label is a number, the result is false: the text is
// then a mistyped address, which must not be sent to a DNS server.
bool is_host_name(std::string_view text);

// True for "localhost" and for names that end in ".localhost", in upper or lower case, with or without a final dot.
// These names mean the loopback address (RFC 6761 6.3).
bool is_localhost(std::string_view host);

class SocketAddress {
 public:
  // Makes an unset address: is_set() is false.
  SocketAddress() = default;

  // Reads an address from text. The text must be exactly one address, without blanks.
  //
  // Errors:
  //   Trouble::kNoHost          the text is a port alone
  //   Trouble::kNoPort          the text has no port
  //   Trouble::kBadPort         the port is not a number from 0 to 65535, or has a leading 0
  //   Trouble::kNameNotAddress  the host is a name such as "localhost"
  //   Trouble::kPathTooLong     the path or the abstract name of a unix socket has more than 107 bytes
  //   Trouble::kBadAddress      the text is no address for any other reason
  static Result<SocketAddress> parse(std::string_view text);

  // Converts an address that getsockname(2), getpeername(2) or accept(2) has written. Returns an unset address if the
  // family is not IPv4, IPv6 or unix, or if `size` is too small for the family.
  static SocketAddress from_kernel(const sockaddr* address, socklen_t size);

  // True if the object holds an address.
  bool is_set() const { return size_ > 0; }

  // Returns AF_INET, AF_INET6 or AF_UNIX, or AF_UNSPEC if the address is unset.
  sa_family_t family() const { return is_set() ? storage_.any.sa_family : sa_family_t{AF_UNSPEC}; }
  bool is_ip() const { return family() == AF_INET || family() == AF_INET6; }
  bool is_unix() const { return family() == AF_UNIX; }

  // Returns the port in host byte order, or 0 if this is not an IP address.
  uint16_t port() const;

  // Sets the port of an IP address. `port` is in host byte order. Throws std::invalid_argument for every other address.
  void set_port(uint16_t port);

  // Returns the path of a unix socket that is a file. Returns an empty view for every other address, abstract and
  // unnamed unix addresses among them. The view is valid as long as this object is unchanged.
  std::string_view unix_path() const;

  // The key by which per-client limits recognize a client.
  //   IPv4   the address without the port; an IPv4 address mapped into IPv6 (RFC 4291 2.5.5.2) has the same key
  //   IPv6   the /64 network, since one client usually has all addresses of such a network
  //   other  one key that all these addresses share
  using ClientKey = std::array<char, 9>;
  ClientKey client_key() const;

  // data() and size() return the address and its size in the form that system calls take.
  const sockaddr* data() const { return &storage_.any; }
  socklen_t size() const { return size_; }

  // Returns the address in the form that parse() reads. An unset address gives "" and an unnamed unix address gives
  // "unix:"; parse() refuses these two texts, and those of the few other addresses that only the kernel makes.
  std::string to_string() const;

  // True if both are the same address: family, host, port and IPv6 scope, or the name of the unix socket.
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
