// SPDX-License-Identifier: BSD-3-Clause
// redirect_to_https: a handler for a server without TLS that runs beside one with TLS. It redirects all requests, or
// those that no other route takes:
//
//   peal::HttpServer plain(loop, peal::Router(peal::redirect_to_https()));
//
//   router.get("/.well-known/acme-challenge/{token}", show_challenge);
//   router.any("/{path*}", peal::redirect_to_https());
#pragma once

#include <cstdint>

#include <peal/http/server/router.h>

namespace peal {

// Returns a handler that answers 308 (Permanent Redirect, RFC 9110 15.4.9). The redirection leads to the same host,
// path and query by https at `port`, whatever port the request came to. The status is 308 for every method, since a 301
// turns a POST into a GET and loses its body silently. A request that does not name its host is answered 400.
//
// The answer has no Strict-Transport-Security field, because an answer without TLS must not have one (RFC 6797 7.2).
// Set HttpServerOptions::hsts of the server with TLS instead. Throws std::invalid_argument if the port is 0.
HttpHandler redirect_to_https(uint16_t port = 443);

}  // namespace peal
