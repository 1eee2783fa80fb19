// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/middleware/authentication.h>

#include <algorithm>
#include <utility>

#include <peal/base/bad_value.h>
#include <peal/wire/base64.h>
#include <peal/wire/http/http_field.h>

namespace peal {
namespace {

// Returns `text` as a quoted-string (RFC 9110 5.6.4). Throws std::invalid_argument if no field may hold the text.
std::string quoted(std::string_view text) {
  if (!is_sendable({"x", text})) throw_bad_value("the realm '{}' has characters that no field may hold", text);
  std::string quoted = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') quoted += '\\';
    quoted += byte;
  }
  return quoted += '"';
}

// The credentials that follow `scheme` in the Authorization field; std::nullopt if the field is missing or names
// another scheme. Also std::nullopt if there are several such fields: a proxy and this server might take different ones
// and see two different users.
std::optional<std::string_view> credentials(const HttpRequestHead& head, std::string_view scheme) {
  std::optional<std::string_view> found;
  for (const HttpField field : head.fields()) {
    if (!same_field_name(field.name, "Authorization")) continue;
    if (found) return std::nullopt;
    found = field.value;
  }
  if (!found || found->size() <= scheme.size() || (*found)[scheme.size()] != ' ') return std::nullopt;
  if (!same_field_name(found->substr(0, scheme.size()), scheme)) return std::nullopt;
  found->remove_prefix(std::min(found->find_first_not_of(' ', scheme.size()), found->size()));
  return found;
}

void challenge(HttpExchange& exchange, std::string_view with) {
  exchange.set_field("WWW-Authenticate", with);
  exchange.respond(401);
}

}  // namespace

HttpMiddleware basic_auth(std::string_view realm, PasswordCheck check) {
  std::string asks = "Basic realm=" + quoted(realm) + ", charset=\"UTF-8\"";
  return [asks = std::move(asks), check = std::move(check)](HttpExchange& exchange, HttpNext next) {
    const auto sent = credentials(exchange.request(), "Basic");
    const auto pair = sent ? base64_decode(*sent) : std::nullopt;
    const size_t colon = pair ? pair->find(':') : std::string::npos;
    if (colon == std::string::npos) return challenge(exchange, asks);
    const std::string_view name = std::string_view(*pair).substr(0, colon);
    if (!check(name, std::string_view(*pair).substr(colon + 1))) return challenge(exchange, asks);
    exchange.attach(HttpUser{std::string(name)});
    next(exchange);
  };
}

HttpMiddleware bearer_auth(std::string_view realm, TokenCheck check) {
  std::string asks = "Bearer realm=" + quoted(realm);
  return [asks = std::move(asks), check = std::move(check)](HttpExchange& exchange, HttpNext next) {
    const auto token = credentials(exchange.request(), "Bearer");
    if (!token) return challenge(exchange, asks);
    std::optional<std::string> name = check(*token);
    if (!name) return challenge(exchange, asks + ", error=\"invalid_token\"");
    exchange.attach(HttpUser{std::move(*name)});
    next(exchange);
  };
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    differs =
        static_cast<unsigned char>(differs | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
    asm volatile("" : "+r"(differs));  // otherwise the compiler may leave the loop at the first difference
  }
  return differs == 0;
}

}  // namespace peal
