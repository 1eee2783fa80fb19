// SPDX-License-Identifier: BSD-3-Clause
// Subscribes to topics of a hub, and prints what is published: `sub ADDRESS TOPIC...`. If the connection is lost, it
// connects and subscribes again.
#include <examples/hub/hub_codec.h>
#include <examples/shared/service.h>

#include <peal/net/client.h>
#include <peal/net/messages.h>

int main(int argc, char** argv) {
  using namespace peal;
  using namespace peal::examples;
  if (argc < 3) {
    fmt::print(stderr, "usage: sub ADDRESS TOPIC...\n");
    return 2;
  }
  Loop loop;
  ClientOptions options;
  options.retry = {.attempts = 0, .reconnect = true};
  auto on_open = [&](Connection& connection) {
    connection.emplace_context<HubReader>();
    for (int i = 2; i < argc; ++i) connection.send(fmt::format("sub {}\r\n", argv[i]));
  };
  auto on_line = [](Connection& connection, std::string_view line) {
    const std::optional<HubMessage> message = connection.context<HubReader>().take(line);
    if (!message) return;
    fmt::print("{}: {}\n", message->topic, message->content);
    std::fflush(stdout);
  };
  Client client(loop, {.on_open = on_open, .on_message = messages(hub_lines(), on_line)}, options);
  if (auto started = client.connect(argv[1]); !started) return failed(argv[1], started.error());
  return run(loop);
}
