// SPDX-License-Identifier: BSD-3-Clause
// Runs a program for each request: `filter_server ADDRESS PROGRAM [ARGUMENT...]`. The body of a POST is the input of
// the program, and the output of the program is the answer. At most four programs run at the same time, each for at
// most ten seconds.
//   filter_server 127.0.0.1:8083 sort -n
//   seq 10 -1 1 | curl --data-binary @- http://127.0.0.1:8083/
// If the program fails, the answer is 422 with its error output. If the program takes too long, it is killed, and the
// answer is 504. If the client disconnects, the program is killed too.
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

// Quoted in docs: [filter]
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
// End of quote: [filter]

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
