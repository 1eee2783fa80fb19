// SPDX-License-Identifier: BSD-3-Clause
// A web server that includes only one header of peal. This header is enough for handlers of every kind: a callback, a
// coroutine, one that answers later, one that sends a file, and one that takes over the connection.
#include <peal/http/server/http_server.h>

namespace {

peal::Task<> slow(peal::HttpExchange& exchange) {
  constexpr auto kPause = std::chrono::milliseconds(1);
  co_await peal::sleep(kPause);
  for (;;) {
    const peal::Result<peal::Buffer> piece = co_await exchange.read();
    if (!piece || piece->empty()) break;
  }
  exchange.begin(200, "text/plain");
  exchange.write(peal::Buffer("one, "));
  co_await exchange.writable();
  exchange.write("two\n");
  exchange.end();
}

void send_file(peal::HttpExchange& exchange) {
  peal::Result<peal::FileRange> file = peal::open_file("/proc/self/exe");
  if (!file) return exchange.respond(404);
  exchange.respond_file(200, "application/octet-stream", std::move(*file));
}

void later(peal::HttpExchange& exchange) {
  exchange.on_abandoned([](peal::HttpExchange&) { PEAL_LOG_INFO("nobody waits for {} any more", "it"); });
  exchange.loop().after(std::chrono::seconds(1), [handle = exchange.handle()] { handle.respond(200, "", "late"); });
}

class EchoOfBytes final : public peal::UpgradeHandler {
 public:
  void on_data(peal::Connection& connection, peal::Buffer& input) override { connection.send(std::move(input)); }
};

}  // namespace

int main() {
  peal::Router router;
  router.get("/hello/{name}", [](peal::HttpExchange& exchange) {
    exchange.set_field("Cache-Control", "no-store");
    exchange.respond(200, "text/plain", exchange.parameter("name"));
  });
  router.post("/slow", slow);
  router.put("/count", [](peal::HttpExchange& exchange) {
    exchange.on_body([](peal::HttpExchange&, std::string_view) {}, [](peal::HttpExchange& all) { all.respond(204); });
  });
  router.get("/file", send_file);
  router.get("/later", later);
  router.del("/bytes",
             [](peal::HttpExchange& exchange) { exchange.upgrade("bytes", std::make_unique<EchoOfBytes>()); });
  peal::Loop loop;
  peal::Scope side(loop);
  peal::HttpServer server(loop, std::move(router));
  const peal::Result<peal::SocketAddress> bound = server.listen("127.0.0.1:0");
  return bound && bound->port() != 0 ? 0 : 1;
}
