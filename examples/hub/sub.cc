// SPDX-License-Identifier: BSD-3-Clause
// Subscribes at a hub and prints what is published: `sub ADDRESS TOPIC...`. Comes back when the hub does.
#include <examples/hub/hub_codec.h>
#include <examples/shared/service.h>

#include <peal/net/client.h>

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
  Client client(loop,
                {.on_open =
                     [&](Connection& connection) {
                       for (int i = 2; i < argc; ++i) connection.send(fmt::format("sub {}\r\n", argv[i]));
                     },
                 .on_message =
                     [](Connection&, Buffer& input) {
                       while (auto message = next_hub_message(input)) {
                         fmt::print("{}: {}\n", message->topic, message->content);
                       }
                       std::fflush(stdout);
                     }},
                options);
  if (auto started = client.connect(argv[1]); !started) return failed(argv[1], started.error());
  return run(loop);
}
