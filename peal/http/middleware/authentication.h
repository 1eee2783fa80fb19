// SPDX-License-Identifier: BSD-3-Clause
// Middleware that lets only known users pass and answers 401 to others. basic_auth() checks a name and a password
// (RFC 7617), bearer_auth() a token (RFC 6750).
//
//   admin.use(peal::basic_auth("the back office", [](std::string_view name, std::string_view password) {
//     return name == "root" && peal::same_secret(password, the_password);
//   }));
//   admin.get("/", [](peal::HttpExchange& exchange) { greet(exchange.attached<peal::HttpUser>()->name); });
//
// With both schemes a client sends its secret in every request, so use them over TLS only. The check that you pass may
// be called on several loops at the same time, and must not block: it runs on the loop's thread. If the check has to
// ask a database, write a coroutine as middleware instead (http_handler.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <peal/http/server/http_handler.h>

namespace peal {

// The user whom the middleware has recognised. Attached to the exchange: exchange.attached<HttpUser>().
struct HttpUser {
  std::string name;
};

// Returns true if `password` is the password of the user `name`. Browsers send both as UTF-8; other clients may send
// any bytes.
using PasswordCheck = std::function<bool(std::string_view name, std::string_view password)>;
// `realm` is the name that a browser shows when it asks for the password. A realm with control characters throws
// std::invalid_argument.
HttpMiddleware basic_auth(std::string_view realm, PasswordCheck check);

// Returns the name of the user to whom the token belongs; std::nullopt if the token is not valid.
using TokenCheck = std::function<std::optional<std::string>(std::string_view token)>;
// A request without a token is answered 401. One with an invalid token is answered 401 with error="invalid_token". A
// realm with control characters throws std::invalid_argument.
HttpMiddleware bearer_auth(std::string_view realm, TokenCheck check);

// Returns true if both texts are equal. The time it takes depends only on their lengths. So an attacker who measures it
// does not learn how many characters of a guess are right.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace peal
