// SPDX-License-Identifier: BSD-3-Clause
// Sends to an echo or discard server for some seconds, and prints the throughput:
// `throughput_client echo|discard ADDRESS [MESSAGE_BYTES [SECONDS]]`. With echo, one message at a time is in flight.
// With discard, it sends as fast as the connection accepts messages.
#include <cstdlib>

#include <examples/shared/service.h>

#include <peal/net/client.h>

int main(int argc, char** argv) {
  using namespace peal;
  using namespace peal::examples;
  const std::string mode = argument(argc, argv, 1, "");
  const int size = std::atoi(argument(argc, argv, 3, "4096").c_str());
  const double seconds = std::atof(argument(argc, argv, 4, "5").c_str());
  if ((mode != "echo" && mode != "discard") || argc < 3 || size < 1 || seconds <= 0) {
    fmt::print(stderr, "usage: throughput_client echo|discard ADDRESS [MESSAGE_BYTES [SECONDS]]\n");
    return 2;
  }
  const bool echoes = mode == "echo";
  const SharedBytes message = share_bytes(std::string(static_cast<size_t>(size), 'x'));
  uint64_t bytes = 0;
  int exit_code = 1;
  Loop loop;
  auto pump = [&](Connection& connection) {
    if (echoes) {
      connection.send(message);
      return;
    }
    while (connection.send(message)) {
    }
  };
  auto on_open = [&](Connection& connection) {
    pump(connection);
    loop.after(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)),
               [&, handle = connection.handle()] {
                 handle.run([&](Connection& open) {
                   if (!echoes) bytes = open.sent_bytes() - open.queued_bytes();
                   exit_code = 0;
                   open.abort();
                 });
               });
  };
  auto on_message = [&](Connection& connection, Buffer& input) {
    bytes += input.size();
    connection.send(std::move(input));
  };
  Client client(loop,
                {.on_open = on_open,
                 .on_message = on_message,
                 .on_writable = pump,
                 .on_close = [&](Connection&, CloseReason) { loop.stop(); }},
                {}, [&](std::error_code error, Duration) {
                  failed("cannot connect", error);
                  loop.stop();
                });
  if (auto started = client.connect(argv[2]); !started) return failed(argv[2], started.error());
  const int ran = run(loop);
  if (ran != 0 || exit_code != 0) return 1;
  fmt::print("{:.2f} MiB/s\n", static_cast<double>(bytes) / seconds / (1024 * 1024));
}
