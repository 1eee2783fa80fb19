// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_target.h>

#include <netdb.h>
#include <nss.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <peal/base/assert.h>
#include <peal/base/fd.h>
#include <peal/net/resolver.h>

namespace peal::cli {
namespace {

constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};

bool somebody_listens(const SocketAddress& address) {
  const Fd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  // On Linux, SO_SNDTIMEO also limits how long connect() waits (socket(7)).
  return socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience) == 0 &&
         ::connect(socket.get(), address.data(), address.size()) == 0;
}

// In a program that is linked statically (`make static`), getaddrinfo() would load the shared libraries that
// /etc/nsswitch.conf names. They bring their own glibc, and the program crashes if its version is another one. "files"
// (/etc/hosts) and "dns" are a part of the program. AT_BASE is 0 in a program that no dynamic linker has started.
void look_up_without_libraries_if_static() {
  if (::getauxval(AT_BASE) == 0) ::__nss_configure_lookup("hosts", "files dns");
}

}  // namespace

SocketAddress first_that_listens(const std::vector<SocketAddress>& addresses) {
  PEAL_ASSERT(!addresses.empty(), "{} addresses", addresses.size());
  if (addresses.size() == 1) return addresses.front();
  const auto found = std::ranges::find_if(addresses, somebody_listens);
  return found == addresses.end() ? addresses.front() : *found;
}

std::expected<SocketAddress, CommandTrouble> find_host(const std::string& host, uint16_t port) {
  const addrinfo hints{.ai_flags = AI_NUMERICSERV,
                       .ai_family = AF_UNSPEC,
                       .ai_socktype = SOCK_STREAM,
                       .ai_protocol = 0,
                       .ai_addrlen = 0,
                       .ai_addr = nullptr,
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  look_up_without_libraries_if_static();
  addrinfo* found = nullptr;
  // Looks up "localhost" instead of a name such as a.localhost. getaddrinfo() would ask name servers for a.localhost,
  // which RFC 6761 6.3 forbids.
  const std::string asked = is_localhost(host) ? "localhost" : host;
  const int error = ::getaddrinfo(asked.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return std::unexpected(
        CommandTrouble(kFailed, fmt::format("the name '{}' has no address: {}", host, ::gai_strerror(error))));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    addresses.push_back(SocketAddress::from_kernel(each->ai_addr, each->ai_addrlen));
  }
  return first_that_listens(addresses);
}

std::expected<SocketAddress, CommandTrouble> find_target(std::string_view text) {
  const Result<SocketAddress> address = SocketAddress::parse(text);
  if (address) return *address;
  if (address.error() != Trouble::kNameNotAddress) return std::unexpected(address_trouble(text, address.error()));
  const Result<HostPort> name = HostPort::parse(text);
  if (!name) return std::unexpected(address_trouble(text, name.error()));
  return find_host(name->host, name->port);
}

}  // namespace peal::cli
