// SPDX-License-Identifier: BSD-3-Clause
// Sends a file to each client, the third way: the kernel sends it. All clients share one fd of the file.
// `file_zero_copy FILE [ADDRESS]`
#include <examples/shared/service.h>

#include <peal/net/file_range.h>

using namespace peal;

int main(int argc, char** argv) {
  const std::string path = examples::argument(argc, argv, 1, "");
  Result<FileRange> file = open_file(path);
  if (!file) return examples::failed("cannot open " + path, file.error());
  auto send_it = [file = *file](Connection& connection) {
    connection.send_file(file);
    connection.close();
  };
  Loop loop;
  Server server(loop, {.on_open = send_it});
  return examples::listen(server, examples::argument(argc, argv, 2, "127.0.0.1:2023")) ? examples::run(loop) : 1;
}
