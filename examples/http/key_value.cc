// SPDX-License-Identifier: BSD-3-Clause
// Stores texts under keys, for clients that know a token: `key_value TOKEN [ADDRESS [MOST]]`, then
//   curl -H 'Authorization: Bearer TOKEN' -X PUT -d hello 'http://127.0.0.1:8084/v1/keys/greeting?ttl=60'   -> 204
//   curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:8084/v1/keys/greeting                            -> hello
// Web pages of any origin may call the store (CORS). Each client address may send 20 requests a second. Each request
// gets an id that appears in the log. The store holds at most MOST keys (10000 by default) of up to 64 KiB each. If it
// is full, a new key is answered with 507. One loop uses the store, so it needs no lock.
#include <cstdlib>
#include <optional>
#include <string>

#include <examples/http/expiring_store.h>
#include <examples/shared/service.h>

#include <peal/base/log.h>
#include <peal/http/middleware/authentication.h>
#include <peal/http/middleware/cors.h>
#include <peal/http/middleware/rate_limiter.h>
#include <peal/http/middleware/request_ids.h>
#include <peal/http/server/http_server.h>

namespace {

using namespace peal;
using examples::ExpiringStore;
using std::chrono::seconds;

std::string key_of(const HttpExchange& exchange) { return std::string(exchange.parameter("key")); }

// Logs each request: its id, method and path, the user, the status, and how long it took.
Task<> log_request(HttpExchange& exchange, HttpNext next) {
  const TimePoint begin = monotonic_now();  // not the loop's now(), which is read only once per iteration
  co_await next.run(exchange);
  const HttpUser* user = exchange.attached<HttpUser>();
  PEAL_LOG_INFO("{} {} {} by {}: {} after {} us", exchange.attached<RequestId>()->text,
                exchange.request().method_text(), exchange.request().path(), user ? user->name : "nobody",
                exchange.status(),
                std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now() - begin).count());
}

// Quoted in docs: [routes]
void add_routes(RouteGroup keys, ExpiringStore& store) {
  keys.get("/{key}", [&store](HttpExchange& exchange) {
    const std::optional<std::string> text = store.get(key_of(exchange));
    if (!text) return exchange.respond(404);
    exchange.respond(200, "text/plain; charset=utf-8", *text);
  });
  keys.put("/{key}",
           [&store](HttpExchange& exchange) {
             const auto ttl = exchange.query<uint32_t>("ttl");
             if (exchange.query("ttl") && !ttl) return exchange.respond(400);
             exchange.read_body([&store, ttl](HttpExchange& read, std::string&& text) {
               read.respond(store.put(key_of(read), std::move(text), seconds(ttl.value_or(0))) ? 204 : 507);
             });
           },
           {.body_limit_bytes = 64 * 1024});
  keys.del("/{key}",
           [&store](HttpExchange& exchange) { exchange.respond(store.remove(key_of(exchange)) ? 204 : 404); });
}

Router routes(ExpiringStore& store, const std::string& token) {
  const auto limiter = std::make_shared<RateLimiter>(RateLimiterOptions{.requests = 20});
  Router router;
  router.use(request_ids());
  router.use(log_request);
  RouteGroup api = router.group("/v1");
  api.use(cors({.origins = {"*"}, .headers = {"Authorization"}}));  // first, so that web pages can read errors too
  api.use(rate_limit(limiter));
  api.use(bearer_auth("keys", [token](std::string_view sent) -> std::optional<std::string> {
    return same_secret(sent, token) ? std::optional<std::string>("owner") : std::nullopt;
  }));
  add_routes(api.group("/keys"), store);
  return router;
}
// End of quote: [routes]

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} TOKEN [ADDRESS [MOST]]\n", argv[0]);
    return 2;
  }
  Loop loop;
  ExpiringStore store(loop, std::strtoull(examples::argument(argc, argv, 3, "10000").c_str(), nullptr, 10));
  HttpServer server(loop, routes(store, argv[1]), {.remember_peer = true});
  return examples::listen(server.server(), examples::argument(argc, argv, 2, "127.0.0.1:8084")) ? examples::run(loop)
                                                                                                : 1;
}
