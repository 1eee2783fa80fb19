// SPDX-License-Identifier: BSD-3-Clause
// An echo server: it sends back all bytes that it receives. Try it with `nc 127.0.0.1 9981`. Ctrl-C ends it.
#include <cstdio>

#include <fmt/core.h>

#include <peal/net/server.h>

int main(int argc, char** argv) {
  auto echo = [](peal::Connection& connection, peal::Buffer& input) { connection.send(std::move(input)); };
  peal::Loop loop;
  peal::Server server(loop, {.on_message = echo});
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
