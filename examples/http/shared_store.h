// SPDX-License-Identifier: BSD-3-Clause
// KeyValueService: stores texts over HTTP on all loops of a group, without a lock. Each key is stored on one of the
// loops. The loop that serves a client asks the loop that stores the key. All loops share one limit of requests.
//
//   PUT /keys/NAME?ttl=60   GET /keys/NAME   DELETE /keys/NAME   GET /stats
//
// The class starts no threads. It works with the loops of a LoopGroup and with simulated loops.
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
  // `loops` must outlive the service.
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

  // Quoted in docs: [keys]
  void add_keys(RouteGroup keys) {
    keys.get("/{key}", [this](HttpExchange& exchange) -> Task<> {
      const std::string key(exchange.parameter("key"));
      const auto text = co_await stores_.ask(key, [&](const ExpiringStore& store) { return store.get(key); });
      if (!text) co_return exchange.respond(503);  // the loop that stores the key has stopped, or is overloaded
      if (!*text) co_return exchange.respond(404);
      exchange.respond(200, "text/plain; charset=utf-8", **text);
    });
    keys.put("/{key}",
             [this](HttpExchange& exchange) -> Task<> {
               const std::string key(exchange.parameter("key"));
               const auto ttl = exchange.query<uint32_t>("ttl");
               if (exchange.query("ttl") && !ttl) co_return exchange.respond(400);
               Result<std::string> text = co_await exchange.read_all();
               if (!text) co_return;  // read_all() has answered with an error, or the client is gone
               const std::chrono::seconds lives(ttl.value_or(0));
               const auto stored = co_await stores_.ask(
                   key, [&](ExpiringStore& store) { return store.put(key, std::move(*text), lives); });
               exchange.respond(!stored ? 503 : *stored ? 204 : 507);  // 507: that loop has no room for a new key
             },
             {.body_limit_bytes = 64 * 1024});
    keys.del("/{key}", [this](HttpExchange& exchange) -> Task<> {
      const std::string key(exchange.parameter("key"));
      const auto removed = co_await stores_.ask(key, [&](ExpiringStore& store) { return store.remove(key); });
      exchange.respond(!removed ? 503 : *removed ? 204 : 404);
    });
  }
  // End of quote: [keys]

  // Quoted in docs: [stats]
  void add_stats(Router& router) {
    router.get("/stats", [this](HttpExchange& exchange) -> Task<> {
      const auto sizes = co_await stores_.ask_all([](const ExpiringStore& store) { return store.size(); });
      std::string text;
      for (size_t i = 0; i < sizes.size(); ++i) text += fmt::format("loop {}: {} keys\n", i, sizes[i].value_or(0));
      exchange.respond(200, "text/plain", text);
    });
  }
  // End of quote: [stats]

  Sharded<ExpiringStore> stores_;
  HttpServer server_;
};

}  // namespace peal::examples
