// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/page_answers.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peal/base/log.h>
#include <peal/inspect/parts/built_in.h>
#include <peal/inspect/parts/forms/html_tables.h>
#include <peal/inspect/parts/forms/text_tables.h>
#include <peal/inspect/parts/snapshot_json.h>
#include <peal/wire/content/accepted_types.h>
#include <peal/wire/content/html_text.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHtml = "text/html; charset=utf-8";

void set_common_fields(HttpExchange& exchange) {
  exchange.set_field("Cache-Control", "no-store");
  exchange.set_field("X-Content-Type-Options", "nosniff");
  exchange.set_field("Cross-Origin-Resource-Policy", "same-origin");
  exchange.set_field("Content-Security-Policy",
                     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
                     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

// Returns the page inspector.html with the texts in place of {{title}}, {{json}} and {{tables}}.
std::string page(std::string_view title, std::string_view json_path, std::string_view tables) {
  std::string text;
  std::string_view rest = std::ranges::find(page_files(), kPageName, &PageFile::name)->text;
  for (size_t hole = rest.find("{{"); hole != rest.npos; hole = rest.find("{{")) {
    text += rest.substr(0, hole);
    const size_t end = rest.find("}}", hole);
    const std::string_view name = rest.substr(hole + 2, end - hole - 2);
    if (name == "title") {
      text += html_escaped(title);
    } else if (name == "json") {
      text += html_escaped(json_path);
    } else if (name == "tables") {
      text += tables;
    } else {
      text += rest.substr(hole, end + 2 - hole);
    }
    rest.remove_prefix(end + 2);
  }
  return text += rest;
}

}  // namespace

void answer(HttpExchange& exchange, int status, std::string_view type, std::string_view body) {
  set_common_fields(exchange);
  exchange.respond(status, type, body);
}

size_t preferred(const HttpExchange& exchange, std::initializer_list<std::string_view> types) {
  AcceptedTypes accepted;
  for (const std::string_view value : exchange.request().values("Accept")) accepted.take(value);
  return accepted.choose(types);
}

Form wanted_form(HttpExchange& exchange) {
  const std::string_view format = exchange.query("format").value_or(std::string_view());
  if (format == "json") return Form::kJson;
  if (format == "text") return Form::kText;
  return static_cast<Form>(preferred(exchange, {"text/plain", "text/html", kJsonType}));
}

std::string path_of(const HttpExchange& exchange) {
  std::string path(exchange.request().path());
  std::string_view query = exchange.request().query();
  for (char mark = '?'; !query.empty();) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty() || pair.starts_with("format=")) continue;
    path += mark;
    path += pair;
    mark = '&';
  }
  return path;
}

void answer_document(HttpExchange& exchange, Form form, std::string_view title, std::string_view path,
                     nlohmann::ordered_json document) {
  document["title"] = title;
  document["log_level"] = to_string(peal::log_level());
  const std::string text = dump(document);
  if (form == Form::kJson) return answer(exchange, 200, kJsonType, text);
  // The other forms are made from `text` and not from `document` itself, because dump() has replaced invalid UTF-8.
  const Json valid = Json::parse(text);
  if (form == Form::kText) {
    return answer(exchange, 200, kTextType,
                  fmt::format("{}\n\n{}", valid["title"].get_ref<const std::string&>(), text_tables(valid)));
  }
  const std::string json_path = fmt::format("{}{}format=json", path, path.contains('?') ? '&' : '?');
  answer(exchange, 200, kHtml, page(title, json_path, html_tables(valid)));
}

}  // namespace peal::detail
