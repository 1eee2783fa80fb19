// SPDX-License-Identifier: BSD-3-Clause
// The guide, page 2: the notebook of page 1 for clients that are slow, silent, greedy or broken.
// `notes_limits [ADDRESS [IDLE_SECONDS]]`
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>

#include <peal/net/messages.h>
#include <peal/net/server.h>
#include <peal/wire/framing/delimiter_framing.h>

#include "notebook.h"

namespace {

// [limits]
// A command is `add ` and a note; a longer line is no command.
constexpr peal::LineFraming kLines{.limit_bytes = 1024};

peal::ServerOptions options(std::chrono::seconds idle_timeout) {
  using std::chrono::seconds;
  peal::ServerOptions options;
  options.max_connections = 1000;
  options.max_connections_per_address = 100;
  // Nobody types a byte a second; a line that has begun brings at least so much in each window.
  options.connection.min_read_bytes = 16;
  options.connection.read_window = seconds(10);
  options.connection.idle_timeout = idle_timeout;
  // The longest list has 205 KB. answer_line() pauses at the high-water mark, so the limit is for its bugs.
  options.connection.high_water_bytes = 256 * 1024;
  options.connection.output_limit_bytes = 2 * 1024 * 1024;
  return options;
}
// [limits]

// [backpressure]
void answer_line(Notebook& notebook, peal::Connection& connection, std::string_view line) {
  if (line == "quit") return connection.close();
  if (!connection.send(notebook.answer(line))) connection.pause();  // the next line is shown after resume()
}
// [backpressure]

// [callbacks]
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
// [callbacks]

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
