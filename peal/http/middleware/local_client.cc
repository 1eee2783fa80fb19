// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/middleware/local_client.h>

#include <netinet/in.h>

#include <algorithm>
#include <string_view>

namespace peal {

bool is_local(const SocketAddress& address) {
  if (address.is_unix()) return true;
  if (address.family() == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address.data());
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  }
  if (address.family() != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address.data())->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

bool was_forwarded(const HttpExchange& exchange) {
  constexpr std::string_view kFields[] = {"Forwarded",         "Via",       "X-Forwarded-For",
                                          "X-Forwarded-Host",  "X-Real-IP", "X-Forwarded-Proto",
                                          "X-Forwarded-Server"};
  return std::ranges::any_of(kFields, [&](std::string_view name) { return exchange.request().find(name).has_value(); });
}

bool is_from_here(const HttpExchange& exchange) {
  const Result<SocketAddress> peer = exchange.peer_address();
  return peer && is_local(*peer) && !was_forwarded(exchange);
}

}  // namespace peal
