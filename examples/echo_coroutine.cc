// SPDX-License-Identifier: BSD-3-Clause
// The echo server with coroutines: one task for each connection. Try it with `nc 127.0.0.1 9981`. Ctrl-C ends it.
#include <cstdio>

#include <fmt/core.h>

#include <peal/coro/co_server.h>

peal::Task<> echo(peal::Stream stream) {
  for (;;) {
    auto input = co_await stream.read();
    if (!input || input->empty()) co_return;
    if (!co_await stream.write(std::move(*input))) co_return;
  }
}

int main(int argc, char** argv) {
  peal::Loop loop;
  peal::CoServer server(loop, echo);
  const char* address = argc > 1 ? argv[1] : "127.0.0.1:9981";
  auto listening = server.listen(address);
  if (!listening) {
    fmt::print(stderr, "cannot listen on {}: {}\n", address, listening.error().message());
    return 1;
  }
  fmt::print("listening on {}\n", listening->to_string());
  std::fflush(stdout);  // otherwise the line stays in the buffer if stdout is a pipe
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}
