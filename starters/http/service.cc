// SPDX-License-Identifier: BSD-3-Clause
#include "service.h"

#include <chrono>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <peal/http/server/http_json.h>

namespace app {
namespace {

using peal::HttpExchange;
using peal::respond_json;
using std::chrono::seconds;

// The largest value of the store, with every byte written as \u00XX, and the JSON around it.
constexpr uint64_t kBodyBytes = 6 * 4096 + 256;

// Every wait has a deadline, and every queue a limit. Options that are not set here keep their defaults.
peal::HttpServerOptions options(size_t max_connections) {
  peal::HttpServerOptions options;
  // A new client replaces the one that has been idle for longest. There is no limit for each address, because behind a
  // proxy all clients have one address. If clients connect directly, set max_connections_per_address too.
  options.max_connections = max_connections;
  options.head_timeout = seconds(10);     // a head fits into one packet
  options.body_timeout = seconds(20);     // a body has 25 KB at most
  options.answer_timeout = seconds(10);   // no handler here waits for anything
  options.idle_timeout = seconds(60);     // between two requests of a connection
  options.limits.head_bytes = 16 * 1024;  // a head has no more than a few cookies
  options.limits.body_bytes = kBodyBytes;
  options.output_limit_bytes = 1024 * 1024;  // answers that one client has not read
  return options;
}

void get_value(const Store& store, HttpExchange& exchange) {
  const std::string_view key = exchange.parameter("key");
  const std::optional<std::string> value = store.get(key);
  if (!value) return respond_json(exchange, 404, {{"error", "no such key"}});
  respond_json(exchange, 200, {{"key", key}, {"value", *value}});
}

void put_value(Store& store, HttpExchange& exchange, const nlohmann::json& body) {
  if (!body.is_object() || !body.contains("value") || !body["value"].is_string()) {
    return respond_json(exchange, 400, {{"error", R"(wanted: {"value": "..."})"}});
  }
  const PutResult result = store.put(exchange.parameter("key"), body["value"].get_ref<const std::string&>());
  int status = 204;
  if (result == PutResult::kBadKey) status = 400;
  if (result == PutResult::kValueTooLong) status = 413;
  if (result == PutResult::kFull) status = 507;  // not 429, because waiting does not help
  if (result == PutResult::kStored) return exchange.respond(status);
  respond_json(exchange, status, {{"error", to_string(result)}});
}

peal::Router routes(Store& store) {
  peal::Router router;
  router.get("/values/{key}", [&store](HttpExchange& exchange) { get_value(store, exchange); });
  router.put("/values/{key}", [&store](HttpExchange& exchange) {
    // If the body is not JSON or is too long, read_json() itself answers with an error.
    peal::read_json(exchange,
                    [&store](HttpExchange& read, const nlohmann::json& body) { put_value(store, read, body); });
  });
  router.del("/values/{key}", [&store](HttpExchange& exchange) {
    if (!store.remove(exchange.parameter("key"))) return respond_json(exchange, 404, {{"error", "no such key"}});
    exchange.respond(204);
  });
  router.get("/healthz", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "ok\n"); });
  return router;
}

}  // namespace

Service::Service(peal::LoopGroup& loops, size_t max_connections)
    : server_(loops, routes(store_), options(max_connections)) {}

}  // namespace app
