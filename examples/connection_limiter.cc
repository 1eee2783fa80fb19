// SPDX-License-Identifier: BSD-3-Clause
// An echo server that holds at most so many connections: `connection_limiter [ADDRESS [MOST [MOST_PER_ADDRESS]]]`. When
// it is full, a newcomer takes the place of whoever has been idle for longest.
#include <cstdlib>

#include <examples/shared/service.h>

int main(int argc, char** argv) {
  using namespace peal;
  ServerOptions options;
  options.max_connections = std::strtoul(examples::argument(argc, argv, 2, "5").c_str(), nullptr, 10);
  options.max_connections_per_address = std::strtoul(examples::argument(argc, argv, 3, "0").c_str(), nullptr, 10);
  return examples::serve(
      argc, argv, "127.0.0.1:2007",
      {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); },
       .on_close =
           [](Connection&, CloseReason reason) {
             fmt::print("{}\n", to_string(reason));
             std::fflush(stdout);
           }},
      options);
}
