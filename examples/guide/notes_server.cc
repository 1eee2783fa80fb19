// SPDX-License-Identifier: BSD-3-Clause
// The guide, page 1: a notebook that is served over TCP, a line at a time. `notes_server [ADDRESS]`; Ctrl-C ends it.
#include <cstdio>

#include <fmt/core.h>

#include <peal/net/server.h>

#include "notebook.h"

// [message]
// Answers every line that is complete. What is left in `input` is shown again with what arrives next.
void answer_lines(Notebook& notebook, peal::Connection& connection, peal::Buffer& input) {
  for (;;) {
    const std::string_view text = input.view();
    const size_t end = text.find('\n');
    if (end == text.npos) return;
    const std::string_view line = text.substr(0, end);
    if (line == "quit") return connection.close();
    connection.send(notebook.answer(line));
    input.consume(end + 1);  // `text` and `line` are gone with it
  }
}
// [message]

// [main]
int main(int argc, char** argv) {
  Notebook notebook;
  peal::Loop loop;
  auto on_message = [&notebook](peal::Connection& connection, peal::Buffer& input) {
    answer_lines(notebook, connection, input);
  };
  peal::Server server(loop, {.on_message = on_message});

  const char* address = argc > 1 ? argv[1] : "127.0.0.1:7000";
  const peal::Result<peal::SocketAddress> bound = server.listen(address);
  if (!bound) {
    fmt::print(stderr, "cannot listen on {}: {}\n", address, bound.error().message());
    return 1;
  }
  fmt::print("listening on {}\n", bound->to_string());
  std::fflush(stdout);  // into a pipe, too, now
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}
// [main]
