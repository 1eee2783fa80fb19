// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/redirect_to_https.h>

#include <string>

#include <peal/base/bad_value.h>
#include <peal/wire/uri/http_url.h>

namespace peal {
namespace {

void redirect(HttpExchange& exchange, uint16_t port) {
  const HttpRequestHead& request = exchange.request();
  // Parses the authority as part of a URL, so that an invalid or empty authority is never put into the answer.
  auto url = HttpUrl::parse("http://" + std::string(request.authority()));
  if (!url) return exchange.respond(400);
  url->scheme = "https";
  url->port = port;
  url->target = request.path();
  if (!request.query().empty()) url->target.append("?").append(request.query());
  exchange.set_field("Location", url->to_string());
  exchange.respond(308);
}

}  // namespace

HttpHandler redirect_to_https(uint16_t port) {
  if (port == 0) throw_bad_value("redirect_to_https() needs a port other than 0");
  return [port](HttpExchange& exchange) { redirect(exchange, port); };
}

}  // namespace peal
