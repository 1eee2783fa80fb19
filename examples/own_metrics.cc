// SPDX-License-Identifier: BSD-3-Clause
// A kitchen that takes orders over HTTP and counts them. The inspector shows what it counts, next to its own figures.
//   own_metrics [ADDRESS [PAGE_ADDRESS]]
//   curl -d '2 x soup' http://127.0.0.1:8083/orders
//   curl http://127.0.0.1:9990/program
//   curl http://127.0.0.1:9990/metrics
#include <examples/shared/service.h>

#include <peal/http/server/http_server.h>
#include <peal/inspect/inspector.h>
#include <peal/observe/metrics.h>

namespace {

// Quoted in docs: [declare]
peal::Counter accepted("orders_total", "Orders, by what became of them.", {{"result", "accepted"}});
peal::Counter refused("orders_total", "Orders, by what became of them.", {{"result", "refused"}});
peal::Gauge cooking("orders_cooking", "Orders that are accepted and not ready yet.");
peal::TimeHistogram latency("order_seconds", "Time from an order until it is ready.");
peal::ValueHistogram size("order_bytes", "Size of an order.");
// End of quote: [declare]

// Quoted in docs: [count]
peal::Task<> take_order(peal::HttpExchange& exchange) {
  const peal::TimePoint began = peal::monotonic_now();
  const peal::Result<std::string> order = co_await exchange.read_all();
  if (!order) co_return;
  size.record(order->size());
  if (order->empty()) {
    refused.add();
    exchange.respond(400, "text/plain", "an order needs a text\n");
    co_return;
  }
  accepted.add();
  cooking.add(1);
  co_await peal::sleep(std::chrono::milliseconds(20));  // also returns if the client has left
  cooking.add(-1);
  latency.record(peal::monotonic_now() - began);
  exchange.respond(200, "text/plain", "ready\n");
}
// End of quote: [count]

}  // namespace

int main(int argc, char** argv) {
  using namespace peal::examples;
  peal::Loop loop;
  peal::Router router;
  router.post("/orders", take_order, {.body_limit_bytes = 4096});
  peal::HttpServer server(loop, std::move(router));
  auto inspector = peal::Inspector::attach(server, argument(argc, argv, 2, "127.0.0.1:9990"), {.name = "kitchen"});
  if (!inspector) return failed("cannot show the page", inspector.error());
  if (!listen(server, argument(argc, argv, 1, "127.0.0.1:8083"))) return 1;
  fmt::print("the page is at http://{}/\n", (*inspector)->address().to_string());
  std::fflush(stdout);
  return run(loop);
}
