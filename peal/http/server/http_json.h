// SPDX-License-Identifier: BSD-3-Clause
// JSON in handlers, as one call, for who has nlohmann-json: a header alone, which nothing else of peal includes.
//
//   router.post("/notes", [](peal::HttpExchange& exchange) -> peal::Task<> {
//     const peal::Result<nlohmann::json> note = co_await peal::read_json(exchange);
//     if (!note) co_return;    // it has been answered
//     peal::respond_json(exchange, 201, {{"id", keep(*note)}});
//   });
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <peal/base/callback.h>
#include <peal/http/server/http_exchange.h>
#include <peal/wire/http/http_field.h>

namespace peal {

// Arrays and objects inside each other in what is read. nlohmann-json reads any number, and writes, copies and compares
// them by recursion: a megabyte of '[' would end the process.
inline constexpr size_t kMostJsonDepth = 100;

// As text with a newline at its end; what is no UTF-8 in a string becomes U+FFFD.
inline std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

// The whole answer, as application/json.
inline void respond_json(HttpExchange& exchange, int status, const nlohmann::json& value) {
  exchange.respond(status, "application/json", json_text(value));
}

namespace detail {

// `application/json`, or any `.../...+json` (RFC 6839 3.1), with any parameters: JSON is UTF-8 (RFC 8259 8.1).
inline bool is_json_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  constexpr std::string_view kSuffix = "+json";
  return same_field_name(type, "application/json") ||
         (type.find('/') != type.npos && type.size() > kSuffix.size() &&
          same_field_name(type.substr(type.size() - kSuffix.size()), kSuffix));
}

// How deep it goes, were it JSON.
inline size_t json_depth(std::string_view text) {
  size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    } else {
      in_string = c == '"';
    }
  }
  return deepest;
}

inline std::unexpected<std::error_code> refuse_json(HttpExchange& exchange, int status, int error,
                                                    std::string_view why) {
  if (!exchange.begun() && !exchange.abandoned()) respond_json(exchange, status, {{"error", why}});
  return fail(error);
}

inline Result<void> check_json_type(HttpExchange& exchange) {
  if (is_json_type(exchange.request().find("Content-Type").value_or(std::string_view()))) return {};
  return refuse_json(exchange, 415, EMEDIUMTYPE, "the Content-Type must be application/json");
}

inline Result<nlohmann::json> parse_json(HttpExchange& exchange, std::string_view text) {
  if (json_depth(text) > kMostJsonDepth) {
    return refuse_json(exchange, 400, EBADMSG, "arrays and objects too deep inside each other");
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 2, column 10: ...; last read: '...'", that of the client.
    std::string_view why = error.what();
    why.remove_prefix(std::min(why.find(']') + 2, why.size()));
    return refuse_json(exchange, 400, EBADMSG, why.substr(0, why.find("; last read")));
  }
}

}  // namespace detail

// The request's body. Where it fails the request has been answered, unless an answer had begun, with a body
// {"error": "..."} that says what is wrong:
//   EMEDIUMTYPE  415: the Content-Type is neither application/json nor one of +json. Without one, too: what a page of
//                another site may send unasked has none or another one, so a handler of JSON is no aim for it.
//   EBADMSG      400: no JSON, with its line and column; no UTF-8; or deeper than kMostJsonDepth.
// and, as read_all() answers them, ENOMEM, 503; ECANCELED, 413: longer than the route takes; ECONNRESET.
inline Task<Result<nlohmann::json>> read_json(HttpExchange& exchange) {
  if (const Result<void> typed = detail::check_json_type(exchange); !typed) co_return std::unexpected(typed.error());
  const Result<std::string> text = co_await exchange.read_all();
  if (!text) co_return std::unexpected(text.error());
  co_return detail::parse_json(exchange, *text);
}

// The same; `on_json` is called where it does not fail.
inline void read_json(HttpExchange& exchange, Callback<void(HttpExchange&, nlohmann::json&& value)> on_json) {
  if (!detail::check_json_type(exchange)) return;
  auto on_whole = [on_json = std::move(on_json)](HttpExchange& read, std::string&& body) mutable {
    if (Result<nlohmann::json> value = detail::parse_json(read, body)) on_json(read, std::move(*value));
  };
  exchange.read_body(std::move(on_whole));
}

}  // namespace peal
