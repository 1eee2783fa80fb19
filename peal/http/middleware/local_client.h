// SPDX-License-Identifier: BSD-3-Clause
// is_from_here(): tells whether a request comes from this machine. For pages that only a user of the machine may see.
#pragma once

#include <peal/base/socket_address.h>
#include <peal/http/server/http_exchange.h>

namespace peal {

// True for addresses in 127.0.0.0/8, also as IPv4-mapped IPv6 addresses, for ::1 and for unix sockets.
bool is_local(const SocketAddress& address);

// True if the request has a field that proxies add: Forwarded (RFC 7239), Via (RFC 9110 7.6.3), X-Real-IP, or
// X-Forwarded-For, -Host, -Proto or -Server. Then the peer's address is the proxy's and not the client's. A proxy that
// is configured to add none of them is not detected.
bool was_forwarded(const HttpExchange& exchange);

// True if the request comes from this machine: the peer's address is a loopback address or a unix socket (is_local()),
// and was_forwarded() is false. False if the address is not known.
bool is_from_here(const HttpExchange& exchange);

}  // namespace peal
