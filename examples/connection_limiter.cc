// SPDX-License-Identifier: BSD-3-Clause
// An echo server with a limit on its connections: `connection_limiter [ADDRESS [MOST [MOST_PER_ADDRESS]]]`. At most
// MOST connections are open at the same time (5 by default). At most MOST_PER_ADDRESS of them come from one client
// address (no limit by default). If the server is full, it closes the connection that has been idle for longest and
// accepts the new one. Prints why each connection ended.
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
