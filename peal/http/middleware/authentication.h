// SPDX-License-Identifier: BSD-3-Clause
// Middleware that knows who asks, or answers 401: with a name and a password (RFC 7617), or with a token (RFC 6750).
//
//   admin.use(peal::basic_auth("the back office", [](std::string_view name, std::string_view password) {
//     return name == "root" && peal::same_secret(password, the_password);
//   }));
//   admin.get("/", [](peal::HttpExchange& exchange) { greet(exchange.attached<peal::HttpUser>()->name); });
//
// Both send secrets in every request: over TLS alone. What is asked may be called on several loops at once, and must
// not wait; who has to ask a database writes a coroutine of his own (http_handler.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <peal/http/server/http_handler.h>

namespace peal {

// Who asks: attached to the exchange.
struct HttpUser {
  std::string name;
};

// Whether the password is this user's. Both are UTF-8, or whatever the client sent.
using PasswordCheck = std::function<bool(std::string_view name, std::string_view password)>;
// `realm`: what a browser's dialogue names; std::invalid_argument where it has controls.
HttpMiddleware basic_auth(std::string_view realm, PasswordCheck check);

// Whose token it is, or nobody's.
using TokenCheck = std::function<std::optional<std::string>(std::string_view token)>;
HttpMiddleware bearer_auth(std::string_view realm, TokenCheck check);

// Whether two texts are equal, in a time that depends on their lengths alone: whoever guesses learns nothing from it.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace peal
