// SPDX-License-Identifier: BSD-3-Clause
// The answers of the inspector: their header fields, and a document in the form that the client wants.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <peal/http/server/http_exchange.h>

namespace peal::detail {

inline constexpr std::string_view kTextType = "text/plain; charset=utf-8";
inline constexpr std::string_view kJsonType = "application/json";

// The file of peal/inspect/page that is served for every page, filled in. The others are served as they are.
inline constexpr std::string_view kPageName = "inspector.html";

// The form in which a document is sent: text for a terminal, a page for a browser, or JSON.
enum class Form : uint8_t { kText, kPage, kJson };

// Answers with the header fields that every response of the inspector has. They forbid caches to keep the response, and
// other sites to embed or frame it.
void answer(HttpExchange& exchange, int status, std::string_view type, std::string_view body);

// Returns the index of the media type that the client prefers by its Accept fields. If it has no preference, the index
// is 0.
size_t preferred(const HttpExchange& exchange, std::initializer_list<std::string_view> types);

// Returns the form that the client wants: by `format` in the query ("json" or "text"), otherwise by its Accept fields.
Form wanted_form(HttpExchange& exchange);

// Returns the path and query of the request, without `format`.
std::string path_of(const HttpExchange& exchange);

// Answers with a document. `path` is path_of() the request: the script of the page fetches the same document from
// there, as JSON. Adds the members `title` and `log_level` to the document.
void answer_document(HttpExchange& exchange, Form form, std::string_view title, std::string_view path,
                     nlohmann::ordered_json document);

}  // namespace peal::detail
