// SPDX-License-Identifier: BSD-3-Clause
// Sends a file to each client, the second way: in chunks. It reads the next chunks only when most of the output has
// been sent. Each client therefore needs little more memory than the high-water mark of the output.
// `file_chunks FILE [ADDRESS]`
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
                       // A client such as `nc -N` may send FIN before the whole file has been sent. Because on_peer_end
                       // is set, the connection stays open until send_more() calls close(), and the client gets the
                       // whole file. If on_peer_end were unset, the connection would end after the output that is
                       // already queued.
                       .on_peer_end = [](Connection&) {}});
  return examples::listen(server, examples::argument(argc, argv, 2, "127.0.0.1:2022")) ? examples::run(loop) : 1;
}
