// SPDX-License-Identifier: BSD-3-Clause
// redirect_to_https: what a server without TLS answers beside the one that has it. All requests, or what no other route
// takes:
//
//   peal::HttpServer plain(loop, peal::Router(peal::redirect_to_https()));
//
//   router.get("/.well-known/acme-challenge/{token}", show_challenge);
//   router.any("/{path*}", peal::redirect_to_https());
#pragma once

#include <cstdint>

#include <peal/http/server/router.h>

namespace peal {

// A handler that answers 308 (Permanent Redirect, RFC 9110 15.4.9) with the same host, path and query by https at that
// port, whichever port was asked. 308 for every method: a 301 makes of a POST a GET, whose body is lost without a word.
// 400 where the request does not say for which host it is. Browsers are not asked to remember more of it than the
// redirect: that is HttpServerOptions::hsts of the other server, since a plain answer may not say so (RFC 6797 7.2).
// std::invalid_argument: port 0.
HttpHandler redirect_to_https(uint16_t port = 443);

}  // namespace peal
