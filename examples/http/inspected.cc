// SPDX-License-Identifier: BSD-3-Clause
// A web server with an inspector: http://127.0.0.1:8082/ is the service, http://127.0.0.1:9990/ shows its state.
//   inspected [ADDRESS [PAGE_ADDRESS]]
#include <algorithm>

#include <examples/shared/service.h>

#include <peal/http/server/http_server.h>
#include <peal/inspect/inspector.h>
#include <peal/observe/stall_watchdog.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  const std::string page_address = argument(argc, argv, 2, "127.0.0.1:9990");
  peal::Loop loop;
  loop.enable_flight_recorder(65'536);
  peal::Router router;
  router.get("/", [](peal::HttpExchange& exchange) { exchange.respond(200, "text/plain", "hello\n"); });
  router.get("/users/{id:uint}", [](peal::HttpExchange& exchange) {
    const auto id = exchange.parameter<uint64_t>("id");
    if (!id || *id > 99) return exchange.respond(404, "text/plain", "there are 100 users\n");
    exchange.respond(200, "text/plain", fmt::format("user {}\n", *id));
  });
  // Takes as many milliseconds as its path says, at most a second. The loop serves others meanwhile.
  router.get("/report/{ms:uint}", [](peal::HttpExchange& exchange) -> peal::Task<> {
    const auto ms = exchange.parameter<uint64_t>("ms");
    co_await peal::sleep(std::chrono::milliseconds(std::min<uint64_t>(ms.value_or(0), 1000)));
    exchange.respond(200, "text/plain", "done\n");
  });
  // Blocks the loop for a second, so that the inspector has a stall to show. A real handler must never block its loop.
  // The page of the inspector can be loaded during that second, because the inspector has a thread of its own. The page
  // then shows that the loop is stalled. During the stall and afterwards, the page shows which code blocks or has
  // blocked the loop.
  router.get("/stall", [](peal::HttpExchange& exchange) {
    const peal::TimePoint end = peal::monotonic_now() + std::chrono::seconds(1);
    while (peal::monotonic_now() < end) continue;
    exchange.respond(200, "text/plain", "that was long\n");
  });
  peal::HttpServer server(loop, std::move(router));
  auto watchdog = peal::StallWatchdog::start();
  if (!watchdog) return failed("cannot watch for stalls", watchdog.error());
  (*watchdog)->watch(loop);

  // Quoted in docs: [attach]
  auto inspector = peal::Inspector::attach(server, page_address);
  if (!inspector) return failed("cannot show the page", inspector.error());
  // End of quote: [attach]
  (*inspector)->add(**watchdog);

  if (!listen(server.server(), argument(argc, argv, 1, "127.0.0.1:8082"))) return 1;
  fmt::print("the page is at http://{}/\n", (*inspector)->address().to_string());
  std::fflush(stdout);
  return run(loop);
}
