// SPDX-License-Identifier: BSD-3-Clause
// What a redirect (RFC 9110 15.4) asks of the request that met it. Pure.
#pragma once

#include <string_view>

#include <peal/http/client/http_client_request.h>
#include <peal/wire/uri/http_url.h>

namespace peal::detail {

// Statuses that name another place to go to at once.
constexpr bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// The method of the request that follows. 303: what is to be fetched. 301 and 302: a POST becomes a GET, since that is
// what browsers have always done; 307 and 308 were made to say that it must not.
std::string_view redirected_method(int status, std::string_view method);

// Makes of the request at `from` the one that goes to `to`. Without its body it loses the fields that describe one. To
// another origin (scheme, host and port: the fetch standard's, RFC 9110 4.3.1) go no credentials (Authorization,
// Cookie), no Host of the user's, and no way of its own to connect; from https to http goes no Referer either (RFC 9110
// 10.1.3).
void redirect(HttpClientRequest& request, int status, const HttpUrl& from, const HttpUrl& to);

}  // namespace peal::detail
