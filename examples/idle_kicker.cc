// SPDX-License-Identifier: BSD-3-Clause
// An echo server that closes a connection after it has been silent for SECONDS, 8 by default:
// `idle_kicker [ADDRESS [SECONDS]]`. Each connection has one timer. A message that arrives does not move the timer:
// only its time is stored. When the timer fires, the server checks how long the connection has been silent. Prints why
// each connection ended.
#include <cstdlib>

#include <examples/shared/service.h>

int main(int argc, char** argv) {
  using namespace peal;
  const double seconds = std::atof(examples::argument(argc, argv, 2, "8").c_str());
  ServerOptions options;
  options.connection.idle_timeout = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
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
