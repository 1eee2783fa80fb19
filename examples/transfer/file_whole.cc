// SPDX-License-Identifier: BSD-3-Clause
// Sends a file to each client, the first way: it reads the whole file into memory, once for each client.
// `file_whole FILE [ADDRESS]`
#include <fstream>
#include <iterator>

#include <examples/shared/service.h>

using namespace peal;

int main(int argc, char** argv) {
  const std::string path = examples::argument(argc, argv, 1, "");
  auto send_whole = [path](Connection& connection) {
    std::ifstream file(path, std::ios::binary);
    connection.send(std::string(std::istreambuf_iterator<char>(file), {}));
    connection.close();
  };
  Loop loop;
  // A connection is reset if more output is queued than output_limit_bytes, 64 MiB by default. send_whole() queues the
  // whole file, which may be larger, so the limit is removed.
  Server server(loop, {.on_open = send_whole}, {.connection = {.output_limit_bytes = SIZE_MAX}});
  return examples::listen(server, examples::argument(argc, argv, 2, "127.0.0.1:2021")) ? examples::run(loop) : 1;
}
