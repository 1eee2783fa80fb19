// SPDX-License-Identifier: BSD-3-Clause
// A web server that says hello: `hello [ADDRESS]`. The default address is 127.0.0.1:8080.
#include <cstdio>

#include <peal/http/server/http_server.h>

int main(int argc, char** argv) {
  peal::Router router;
  router.get("/", [](peal::HttpExchange& exchange) { exchange.respond(200, "text/plain", "Hello, world!"); });
  peal::Loop loop;
  peal::HttpServer server(loop, std::move(router));
  const char* address = argc > 1 ? argv[1] : "127.0.0.1:8080";
  auto bound = server.listen(address);
  if (!bound) {
    std::fprintf(stderr, "cannot listen on %s: %s\n", address, bound.error().message().c_str());
    return 1;
  }
  std::printf("listening on %s\n", bound->to_string().c_str());
  std::fflush(stdout);
  if (!loop.stop_on_signals()) return 1;
  return loop.run() ? 0 : 1;
}
