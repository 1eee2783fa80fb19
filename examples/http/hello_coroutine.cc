// SPDX-License-Identifier: BSD-3-Clause
// A web server whose handler is a coroutine. While a handler waits, the loop serves other clients.
// Try `curl '127.0.0.1:8080/hello?name=Ada'`. Ctrl-C ends the server.
#include <cstdio>

#include <fmt/core.h>

#include <peal/http/server/http_server.h>

peal::Task<> hello(peal::HttpExchange& exchange) {
  co_await peal::sleep(std::chrono::milliseconds(100));  // stands for a database query
  const std::string_view name = exchange.query("name").value_or("world");
  exchange.respond(200, "text/plain", fmt::format("Hello, {}!\n", name));
}

int main(int argc, char** argv) {
  peal::Loop loop;
  peal::Router router;
  router.get("/hello", hello);
  peal::HttpServer server(loop, std::move(router));
  const char* address = argc > 1 ? argv[1] : "127.0.0.1:8080";
  auto listening = server.listen(address);
  if (!listening) {
    fmt::print(stderr, "cannot listen on {}: {}\n", address, listening.error().message());
    return 1;
  }
  fmt::print("listening on {}\n", listening->to_string());
  std::fflush(stdout);
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}
