// SPDX-License-Identifier: BSD-3-Clause
// Page 1 of the guide: a server for the notebook, over TCP. Each line is a command. `notes_server [ADDRESS]`. Ctrl-C
// ends it.
#include <cstdio>

#include <fmt/core.h>

#include <peal/net/messages.h>
#include <peal/net/server.h>
#include <peal/wire/framing/delimiter_framing.h>

#include "notebook.h"

// Quoted in docs: [main]
int main(int argc, char** argv) {
  Notebook notebook;
  peal::Loop loop;
  auto on_line = [&notebook](peal::Connection& connection, std::string_view line) {
    if (line == "quit") return connection.close();
    connection.send(notebook.answer(line));
  };
  peal::Server server(loop, {.on_message = peal::messages(peal::LineFraming(), on_line)});

  const char* address = argc > 1 ? argv[1] : "127.0.0.1:7000";
  const peal::Result<peal::SocketAddress> bound = server.listen(address);
  if (!bound) {
    fmt::print(stderr, "cannot listen on {}: {}\n", address, bound.error().message());
    return 1;
  }
  fmt::print("listening on {}\n", bound->to_string());
  std::fflush(stdout);  // otherwise the line stays in the buffer if stdout is a pipe
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}
// End of quote: [main]
