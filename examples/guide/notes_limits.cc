// SPDX-License-Identifier: BSD-3-Clause
// Page 2 of the guide: the notebook of page 1, protected from clients that are slow, silent, greedy or broken.
// `notes_limits [ADDRESS [IDLE_SECONDS]]`
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>

#include <peal/net/messages.h>
#include <peal/net/server.h>
#include <peal/wire/framing/delimiter_framing.h>

#include "notebook.h"

namespace {

// Quoted in docs: [limits]
// The longest valid line has 204 bytes: `add ` and a note of 200 bytes. A longer line gets an error answer, so that the
// client learns what is wrong. A line of more than 1,024 bytes ends the connection.
constexpr peal::LineFraming kLines{.limit_bytes = 1024};

peal::ServerOptions options(std::chrono::seconds idle_timeout) {
  using std::chrono::seconds;
  peal::ServerOptions options;
  options.max_connections = 1000;
  options.max_connections_per_address = 100;
  // A client that has begun a line must end the line within 10 seconds, or send at least 16 bytes in each window of 10
  // seconds until the line ends. Honest clients are not slower, even if a person types, because a terminal passes a
  // line on only when Enter is pressed.
  options.connection.min_read_bytes = 16;
  options.connection.read_window = seconds(10);
  options.connection.idle_timeout = idle_timeout;
  // The longest answer, the list of 1,000 notes of 200 bytes, has 205 KB. When more than 256 KiB are queued,
  // answer_line() pauses the connection. So at most 256 KiB and one answer, together 467 KB, are queued. The output
  // limit counts the memory of the queue, which is at most four times its size (1.9 MB). So a connection exceeds the
  // limit of 2 MiB only if the program has a bug.
  options.connection.high_water_bytes = 256 * 1024;
  options.connection.output_limit_bytes = 2 * 1024 * 1024;
  return options;
}
// End of quote: [limits]

// Quoted in docs: [backpressure]
void answer_line(Notebook& notebook, peal::Connection& connection, std::string_view line) {
  if (line == "quit") return connection.close();
  if (!connection.send(notebook.answer(line))) connection.pause();  // no further line until on_writable is called
}
// End of quote: [backpressure]

// Quoted in docs: [callbacks]
peal::ConnectionCallbacks callbacks(Notebook& notebook) {
  peal::ConnectionCallbacks callbacks;
  callbacks.on_message = peal::messages(kLines, [&notebook](peal::Connection& connection, std::string_view line) {
    answer_line(notebook, connection, line);
  });
  callbacks.on_writable = [](peal::Connection& connection) { connection.resume(); };
  callbacks.on_close = [](peal::Connection& connection, peal::CloseReason reason) {
    fmt::print("{}, after {} bytes\n", to_string(reason), connection.received_bytes());
    std::fflush(stdout);
  };
  return callbacks;
}
// End of quote: [callbacks]

}  // namespace

int main(int argc, char** argv) {
  const std::chrono::seconds idle_timeout(argc > 2 ? std::atoi(argv[2]) : 300);
  Notebook notebook;
  peal::Loop loop;
  peal::Server server(loop, callbacks(notebook), options(idle_timeout));
  const char* address = argc > 1 ? argv[1] : "127.0.0.1:7000";
  const peal::Result<peal::SocketAddress> bound = server.listen(address);
  if (!bound) {
    fmt::print(stderr, "cannot listen on {}: {}\n", address, bound.error().message());
    return 1;
  }
  fmt::print("listening on {}\n", bound->to_string());
  std::fflush(stdout);
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}
