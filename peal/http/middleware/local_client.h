// SPDX-License-Identifier: BSD-3-Clause
// Whether a request comes from this machine: what may be shown to whoever has the machine, and to nobody else.
#pragma once

#include <peal/base/socket_address.h>
#include <peal/http/server/http_exchange.h>

namespace peal {

// 127.0.0.0/8, ::1, the former written as IPv6, and unix sockets.
bool is_local(const SocketAddress& address);

// A proxy passed it on, and says so (RFC 7239; RFC 9110 7.6.3): then the peer is not who asks. A proxy that was told to
// keep that to itself is not known of.
bool was_forwarded(const HttpExchange& exchange);

// From this machine, and through no proxy that says it is one.
bool is_from_here(const HttpExchange& exchange);

}  // namespace peal
