// SPDX-License-Identifier: BSD-3-Clause
// Chargen (RFC 864): sends characters while the client reads, and prints the throughput. `chargen [ADDRESS]`
#include <examples/shared/service.h>
#include <examples/simple/services.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  std::atomic<uint64_t> sent_bytes = 0;
  peal::Loop loop;
  peal::Server server(loop, chargen_service(sent_bytes));
  if (!listen(server, argument(argc, argv, 1, "127.0.0.1:2019"))) return 1;
  print_throughput(loop, std::chrono::seconds(1), sent_bytes);
  return run(loop);
}
