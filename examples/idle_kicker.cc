// SPDX-License-Identifier: BSD-3-Clause
// An echo server that hangs up on clients who have been silent for some seconds: `idle_kicker [ADDRESS [SECONDS]]`.
// A message costs one store; each connection has one timer, which looks when it fires whether the silence was long.
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
