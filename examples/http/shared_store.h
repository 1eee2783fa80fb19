// SPDX-License-Identifier: BSD-3-Clause
// KeyValueService: a store of texts over HTTP on all loops of a group, without a lock: each key lives on one of the
// loops, and whichever loop has the client asks that one. One limit on requests holds for all of them.
//
//   PUT /keys/NAME?ttl=60   GET /keys/NAME   DELETE /keys/NAME   GET /stats
//
// It knows no thread: the loops may be those of a LoopGroup, or simulated ones.
#pragma once

#include <memory>
#include <string>

#include <examples/http/expiring_store.h>
#include <fmt/core.h>

#include <peal/http/middleware/rate_limiter.h>
#include <peal/http/server/http_server.h>
#include <peal/share/sharded.h>

namespace peal::examples {

class KeyValueService {
 public:
  // The loops outlive it.
  explicit KeyValueService(LoopGroup& loops, const RateLimiterOptions& limit = {.requests = 1000},
                           AcceptMode accept = AcceptMode::kReusePort)
      : stores_(loops), server_(loops, routes(limit), {.accept = accept, .remember_peer = true}) {}

  Server& server() { return server_.server(); }

 private:
  Router routes(const RateLimiterOptions& limit) {
    Router router;
    router.use(rate_limit(std::make_shared<RateLimiter>(limit)));
    add_keys(router.group("/keys"));
    add_stats(router);
    return router;
  }

  // [keys]
  void add_keys(RouteGroup keys) {
    keys.get("/{key}", [this](HttpExchange& exchange) -> Task<> {
      const std::string key(exchange.parameter("key"));
      const auto text = co_await stores_.ask(key, [&](const ExpiringStore& store) { return store.get(key); });
      if (!text) co_return exchange.respond(503);  // that loop has ended, or has too much to do
      *text ? exchange.respond(200, "text/plain; charset=utf-8", **text) : exchange.respond(404);
    });
    keys.put("/{key}",
             [this](HttpExchange& exchange) -> Task<> {
               const std::string key(exchange.parameter("key"));
               const auto ttl = exchange.query<uint32_t>("ttl");
               if (exchange.query("ttl") && !ttl) co_return exchange.respond(400);
               Result<std::string> text = co_await exchange.read_all();
               if (!text) co_return;  // answered, or the client has gone
               const std::chrono::seconds lives(ttl.value_or(0));
               const auto stored = co_await stores_.ask(
                   key, [&](ExpiringStore& store) { return store.put(key, std::move(*text), lives); });
               exchange.respond(!stored ? 503 : *stored ? 204 : 507);  // 507: that loop's store is full
             },
             {.body_limit_bytes = 64 * 1024});
    keys.del("/{key}", [this](HttpExchange& exchange) -> Task<> {
      const std::string key(exchange.parameter("key"));
      const auto removed = co_await stores_.ask(key, [&](ExpiringStore& store) { return store.remove(key); });
      exchange.respond(!removed ? 503 : *removed ? 204 : 404);
    });
  }
  // [keys]

  // [stats]
  void add_stats(Router& router) {
    router.get("/stats", [this](HttpExchange& exchange) -> Task<> {
      const auto sizes = co_await stores_.ask_all([](const ExpiringStore& store) { return store.size(); });
      std::string text;
      for (size_t i = 0; i < sizes.size(); ++i) text += fmt::format("loop {}: {} keys\n", i, sizes[i].value_or(0));
      exchange.respond(200, "text/plain", text);
    });
  }
  // [stats]

  Sharded<ExpiringStore> stores_;
  HttpServer server_;
};

}  // namespace peal::examples
