// SPDX-License-Identifier: BSD-3-Clause
// A program behind HTTP: `filter_server ADDRESS PROGRAM [ARGUMENT...]`. What is posted is its input, what it prints is
// the answer; a few run at once, each for ten seconds at most:
//   filter_server 127.0.0.1:8083 sort -n
//   seq 10 -1 1 | curl --data-binary @- http://127.0.0.1:8083/
// A program that fails is answered 422 with what it said; one that takes too long is killed, 504. So is one whose
// client goes away.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <examples/shared/service.h>

#include <peal/http/server/http_server.h>
#include <peal/process/run_process.h>
#include <peal/sync/async_semaphore.h>

namespace {

using namespace peal;

// [filter]
Task<> filter(HttpExchange& exchange, const Command& command, AsyncSemaphore& at_once) {
  const Result<std::string> body = co_await exchange.read_all();
  const auto permit = co_await at_once.acquire();
  if (!body || !permit) co_return;
  const RunOptions options = {.input = *body, .timeout = std::chrono::seconds(10)};
  Result<ProcessAnswer> done = co_await run_process(command, options);
  if (!done) co_return exchange.respond(done.error() == std::errc::timed_out ? 504 : 500);
  if (!done->status.success()) co_return exchange.respond(422, "text/plain; charset=utf-8", std::move(done->errors));
  exchange.respond(200, "application/octet-stream", std::move(done->output));
}
// [filter]

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} ADDRESS PROGRAM [ARGUMENT...]\n", argv[0]);
    return 2;
  }
  const Command command(std::vector<std::string>(argv + 2, argv + argc));
  AsyncSemaphore at_once(4);
  Router router;
  router.post("/", [&](HttpExchange& exchange) { return filter(exchange, command, at_once); });
  Loop loop;
  HttpServer server(loop, std::move(router));
  if (!examples::listen(server.server(), argv[1])) return 1;
  return examples::run(loop);
}
