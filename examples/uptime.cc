// SPDX-License-Identifier: BSD-3-Clause
// Stays connected to a service, and prints how long each connection was up: `uptime ADDRESS`. If the connection is lost
// or cannot be made, it tries again for ever. The delays between attempts grow, and are varied at random.
#include <examples/shared/service.h>

#include <peal/net/client.h>

int main(int argc, char** argv) {
  using namespace peal;
  using namespace peal::examples;
  if (argc != 2) {
    fmt::print(stderr, "usage: uptime ADDRESS\n");
    return 2;
  }
  auto say = [](const std::string& sentence) {
    fmt::print("{}\n", sentence);
    std::fflush(stdout);
  };
  auto seconds = [](Duration duration) { return std::chrono::duration<double>(duration).count(); };
  Loop loop;
  TimePoint since = loop.now();
  ClientOptions options;
  options.retry = {.attempts = 0, .first_delay = std::chrono::milliseconds(100), .reconnect = true};
  Client client(loop,
                {.on_open =
                     [&](Connection&) {
                       say(fmt::format("up, after {:.2f} s", seconds(loop.now() - since)));
                       since = loop.now();
                     },
                 .on_close =
                     [&](Connection&, CloseReason reason) {
                       say(fmt::format("down ({}), after {:.2f} s", to_string(reason), seconds(loop.now() - since)));
                       since = loop.now();
                     }},
                options, [&](std::error_code error, Duration next) {
                  say(fmt::format("{}; trying again in {:.2f} s", error.message(), seconds(next)));
                });
  if (auto started = client.connect(argv[1]); !started) return failed(argv[1], started.error());
  return run(loop);
}
