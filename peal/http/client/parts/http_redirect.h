// SPDX-License-Identifier: BSD-3-Clause
// redirect(): changes a request as a redirect demands (RFC 9110 15.4). These are pure functions.
#pragma once

#include <string_view>

#include <peal/http/client/http_client_request.h>
#include <peal/wire/uri/http_url.h>

namespace peal::detail {

// Returns true for the statuses with which a server redirects a request to the URL in Location.
constexpr bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Returns the method of the request that follows a redirect. After 303 every method except HEAD becomes GET. After 301
// and 302 a POST becomes GET, as in browsers. After 307 and 308 the method does not change.
std::string_view redirected_method(int status, std::string_view method);

// Changes a request that was redirected from `from` to `to` with `status`:
// - `target` is dropped: the new URL's path and query are used instead.
// - If the method changes, the body is dropped, together with the fields that describe it.
// - If the origin changes (scheme, host or port, RFC 9110 4.3.1), Authorization, Proxy-Authorization, Cookie, Host and
//   connect_to are dropped. The Fetch standard of browsers demands that too.
// - If the scheme changes from https to http, Referer is dropped as well (RFC 9110 10.1.3).
void redirect(HttpClientRequest& request, int status, const HttpUrl& from, const HttpUrl& to);

}  // namespace peal::detail
