// SPDX-License-Identifier: BSD-3-Clause
// Sends a file to whoever connects, the second way: chunk by chunk, the next when the last is nearly out, so that a
// client costs the high-water mark and no more. `file_chunks FILE [ADDRESS]`
#include <array>
#include <fstream>

#include <examples/shared/service.h>

using namespace peal;

namespace {

void send_more(Connection& connection) {
  auto& file = connection.context<std::ifstream>();
  std::array<char, 64 * 1024> chunk;
  for (bool room = true; room;) {
    file.read(chunk.data(), chunk.size());
    if (file.gcount() == 0) return connection.close();
    room = connection.send(std::string_view(chunk.data(), static_cast<size_t>(file.gcount())));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = examples::argument(argc, argv, 1, "");
  Loop loop;
  Server server(loop, {.on_open =
                           [path](Connection& connection) {
                             connection.emplace_context<std::ifstream>(path, std::ios::binary);
                             send_more(connection);
                           },
                       .on_writable = send_more,
                       // A client that has nothing to say and sends FIN still gets all of the file.
                       .on_peer_end = [](Connection&) {}});
  return examples::listen(server, examples::argument(argc, argv, 2, "127.0.0.1:2022")) ? examples::run(loop) : 1;
}
