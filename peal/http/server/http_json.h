// SPDX-License-Identifier: BSD-3-Clause
// Reads and sends JSON in handlers with one call each. This header needs nlohmann-json; no other file of peal includes
// it.
//
//   router.post("/notes", [](peal::HttpExchange& exchange) -> peal::Task<> {
//     const peal::Result<nlohmann::json> note = co_await peal::read_json(exchange);
//     if (!note) co_return;    // read_json() has answered
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

// Limit of the nesting of arrays and objects that read_json() accepts. nlohmann-json parses any depth, but writes,
// copies and compares values by recursion: a megabyte of '[' would crash the process.
inline constexpr size_t kMostJsonDepth = 100;

// Returns the value as text, with a newline at the end. Invalid UTF-8 in a string becomes U+FFFD.
inline std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

// Sends the value as the whole answer, with the content type application/json.
inline void respond_json(HttpExchange& exchange, int status, const nlohmann::json& value) {
  exchange.respond(status, "application/json", json_text(value));
}

namespace detail {

// True for `application/json` and for any `.../...+json` (RFC 6839 3.1). Parameters are ignored, since JSON is always
// UTF-8 (RFC 8259 8.1).
inline bool is_json_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  constexpr std::string_view kSuffix = "+json";
  return same_field_name(type, "application/json") ||
         (type.find('/') != type.npos && type.size() > kSuffix.size() &&
          same_field_name(type.substr(type.size() - kSuffix.size()), kSuffix));
}

// Returns the nesting depth of arrays and objects, without checking that the text is JSON.
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

// Answers with `status` and the body {"error": why}, unless an answer has begun or the exchange was abandoned. Returns
// `error` in the form in which the caller returns it.
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
    return refuse_json(exchange, 400, EBADMSG, "arrays and objects are nested too deeply");
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    // The exception's message has the form "[json.exception.parse_error.101] parse error at line 2, column 10: ...;
    // last read: '...'". The prefix is cut off. The end is cut off too, because it quotes the client's own text.
    std::string_view why = error.what();
    why.remove_prefix(std::min(why.find(']') + 2, why.size()));
    return refuse_json(exchange, 400, EBADMSG, why.substr(0, why.find("; last read")));
  }
}

}  // namespace detail

// Reads the request's body as JSON. If that fails, the request has been answered, unless an answer had begun. The body
// of that answer is {"error": "..."}, which says what is wrong. Errors:
// - EMEDIUMTYPE, answered 415: the Content-Type is missing, or is neither application/json nor a type that ends in
//   +json. Web pages of another site cannot send these types without the server's consent, so the check protects the
//   handler from forged requests.
// - EBADMSG, answered 400: the body is not JSON (the answer names line and column), is not UTF-8, or is nested deeper
//   than kMostJsonDepth.
// - ENOMEM, ECANCELED and ECONNRESET: HttpExchange::read_all() has failed. Its comment says what was answered.
inline Task<Result<nlohmann::json>> read_json(HttpExchange& exchange) {
  if (const Result<void> typed = detail::check_json_type(exchange); !typed) co_return std::unexpected(typed.error());
  const Result<std::string> text = co_await exchange.read_all();
  if (!text) co_return std::unexpected(text.error());
  co_return detail::parse_json(exchange, *text);
}

// Reads the request's body as JSON and calls `on_json` with the value. If that fails, `on_json` is not called, and the
// request is answered with the errors that the coroutine read_json() lists.
inline void read_json(HttpExchange& exchange, Callback<void(HttpExchange&, nlohmann::json&& value)> on_json) {
  if (!detail::check_json_type(exchange)) return;
  auto on_whole = [on_json = std::move(on_json)](HttpExchange& read, std::string&& body) mutable {
    if (Result<nlohmann::json> value = detail::parse_json(read, body)) on_json(read, std::move(*value));
  };
  exchange.read_body(std::move(on_whole));
}

}  // namespace peal
