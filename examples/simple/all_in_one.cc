// SPDX-License-Identifier: BSD-3-Clause
// Runs the five services on one loop, each on a port of its own: `all_in_one [HOST [FIRST_PORT]]`. They use FIRST_PORT
// (2007 by default) and the next four ports, in the order echo, discard, daytime, time, chargen. If FIRST_PORT is 0,
// the kernel chooses five free ports.
#include <cstdlib>

#include <examples/shared/service.h>
#include <examples/simple/services.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  const std::string host = argument(argc, argv, 1, "127.0.0.1");
  const int first = std::atoi(argument(argc, argv, 2, "2007").c_str());
  std::atomic<uint64_t> sent_bytes = 0;
  peal::Loop loop;
  peal::Server echo(loop, echo_service());
  peal::Server discard(loop, discard_service());
  peal::Server daytime(loop, daytime_service());
  peal::Server time(loop, time_service());
  peal::Server chargen(loop, chargen_service(sent_bytes));
  int offset = 0;
  for (peal::Server* server : {&echo, &discard, &daytime, &time, &chargen}) {
    if (!listen(*server, fmt::format("{}:{}", host, first == 0 ? 0 : first + offset++))) return 1;
  }
  return run(loop);
}
