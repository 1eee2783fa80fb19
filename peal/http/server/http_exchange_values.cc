// SPDX-License-Identifier: BSD-3-Clause
// The part of HttpExchange for the query and the cookies of the request.
#include <string>

#include <peal/http/server/http_exchange.h>
#include <peal/http/server/parts/http_handler_task.h>
#include <peal/wire/cookies/http_cookies.h>
#include <peal/wire/uri/http_path.h>

namespace peal {

// Returns the decoded query. The first call decodes it. Returns null if no part of the query needs decoding; the caller
// then reads the pairs in place.
const HttpForm* HttpExchange::decoded_query() {
  check_use();
  if (has_extras_ && extras_->query) return &*extras_->query;
  if (head_.query().find_first_of("%+") == std::string_view::npos) return nullptr;
  extras().query = HttpForm::parse(std::string(head_.query()));
  return &extras_->query.value();
}

std::optional<std::string_view> HttpExchange::query(std::string_view key) {
  if (const HttpForm* decoded = decoded_query()) return decoded->find(key);
  for (const HttpQuery::Pair& pair : HttpQuery(head_.query())) {
    if (pair.key == key) return pair.value;
  }
  return std::nullopt;
}

std::vector<std::string_view> HttpExchange::query_all(std::string_view key) {
  if (const HttpForm* decoded = decoded_query()) return decoded->all(key);
  std::vector<std::string_view> values;
  for (const HttpQuery::Pair& pair : HttpQuery(head_.query())) {
    if (pair.key == key) values.push_back(pair.value);
  }
  return values;
}

// Searches all Cookie fields. A browser sends one field, but a proxy may have split it into several (RFC 9113 8.2.3).
std::optional<std::string_view> HttpExchange::cookie(std::string_view name) const {
  check_use();
  for (const std::string_view cookies : head_.values("Cookie")) {
    if (const auto value = HttpCookies(cookies).find(name)) return value;
  }
  return std::nullopt;
}

void HttpExchange::set_cookie(const SetCookie& cookie) { set_field("Set-Cookie", compose_set_cookie(cookie)); }

void HttpExchange::delete_cookie(std::string_view name, std::string_view path, std::string_view domain) {
  set_cookie(SetCookie::deletion(name, path, domain));
}

}  // namespace peal
