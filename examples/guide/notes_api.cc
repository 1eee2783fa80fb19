// SPDX-License-Identifier: BSD-3-Clause
#include "notes_api.h"

#include <algorithm>
#include <optional>

#include <peal/http/forms/read_form.h>
#include <peal/http/middleware/authentication.h>
#include <peal/http/middleware/request_ids.h>
#include <peal/http/server/http_json.h>

using nlohmann::json;
using peal::HttpExchange;
using peal::respond_json;
using peal::Task;

namespace {

constexpr std::string_view kPage =
    "<!doctype html><title>Notes</title>"
    "<form method=post action=/form><input name=text autofocus><button>Add</button></form>\n";
constexpr std::string_view kNotAdded = "empty, too long, or the book is full";

// Quoted in docs: [middleware]
// Middleware for all routes: runs the rest of the route (`next`), and logs the request afterwards. The co_await ends
// when the handler has ended and has passed the whole answer to the server, or when the client has left. If the handler
// throws, the co_await throws the same exception, so the request is not logged.
Task<> log_request(HttpExchange& exchange, peal::HttpNext next) {
  const peal::TimePoint begin = peal::monotonic_now();  // not the loop's now(), which is read only once per iteration
  co_await next.run(exchange);
  const std::chrono::duration<double, std::milli> took = peal::monotonic_now() - begin;
  PEAL_LOG_INFO("{} {} {} -> {}, {:.1f} ms", exchange.attached<peal::RequestId>()->text,
                exchange.request().method_text(), exchange.request().target(), exchange.status(), took.count());
}

// Sends an error page as JSON. The router calls this function for its own error answers, for example if the path is
// unknown (404) or the body is too long (413). The function is also called if a handler or middleware calls respond()
// with only a status from 400 on.
void say_error(HttpExchange& exchange, int status) { respond_json(exchange, status, {{"status", status}}); }
// End of quote: [middleware]

}  // namespace

// Quoted in docs: [routes]
void NotesApi::add_routes(peal::Router& router) {
  router.error_page(say_error);
  router.use(peal::request_ids());
  router.use(log_request);
  router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "text/html; charset=utf-8", kPage); });
  router.get("/notes", [this](HttpExchange& exchange) { list(exchange); });
  router.get("/notes/{number:uint}", [this](HttpExchange& exchange) { show(exchange); });
  router.post("/notes", [this](HttpExchange& exchange) { return add(exchange); }, {.body_limit_bytes = 4096});
  router.post("/form", [this](HttpExchange& exchange) { return add_by_form(exchange); }, {.body_limit_bytes = 4096});

  const auto check = [token = token_](std::string_view shown) -> std::optional<std::string> {
    if (token.empty() || !peal::same_secret(shown, token)) return std::nullopt;
    return "admin";
  };
  peal::RouteGroup admin = router.group("/admin");
  admin.use(peal::bearer_auth("notes", check));
  admin.del("/notes/{number:uint}", [this](HttpExchange& exchange) { remove(exchange); });
}
// End of quote: [routes]

// Quoted in docs: [get]
void NotesApi::list(HttpExchange& exchange) const {
  const std::string_view wanted = exchange.query("contains").value_or("");
  size_t left = exchange.query<uint32_t>("limit").value_or(100);
  json all = json::array();
  for (const auto& [number, text] : notebook_.notes()) {
    if (left == 0) break;
    if (!text.contains(wanted)) continue;
    all.push_back({{"number", number}, {"text", text}});
    --left;
  }
  respond_json(exchange, 200, all);
}

void NotesApi::show(HttpExchange& exchange) const {
  const auto number = exchange.parameter<uint64_t>("number");
  const auto note = number ? notebook_.notes().find(*number) : notebook_.notes().end();
  if (note == notebook_.notes().end()) return exchange.respond(404);
  respond_json(exchange, 200, {{"number", note->first}, {"text", note->second}});
}
// End of quote: [get]

// Quoted in docs: [post]
Task<> NotesApi::add(HttpExchange& exchange) {
  const peal::Result<json> note = co_await peal::read_json(exchange);
  if (!note) co_return;  // read_json() has already answered 400, 413 or 415
  if (!note->is_object() || !note->contains("text") || !note->at("text").is_string()) {
    co_return respond_json(exchange, 400, {{"error", R"(wanted: {"text": "..."})"}});
  }
  const auto number = notebook_.add(note->at("text").get_ref<const std::string&>());
  if (!number) co_return respond_json(exchange, 422, {{"error", kNotAdded}});
  exchange.set_field("Location", "/notes/" + std::to_string(*number));
  respond_json(exchange, 201, {{"number", *number}});
}

Task<> NotesApi::add_by_form(HttpExchange& exchange) {
  const auto form = co_await peal::read_form(exchange);
  if (!form) co_return;
  if (!notebook_.add(form->find("text").value_or(""))) co_return exchange.respond(422);
  exchange.set_field("Location", "/notes");
  exchange.respond(303);  // the browser shows the list; reloading it does not add the note again
}
// End of quote: [post]

void NotesApi::remove(HttpExchange& exchange) {
  const auto number = exchange.parameter<uint64_t>("number");
  exchange.respond(number && notebook_.remove(*number) ? 204 : 404);
}
