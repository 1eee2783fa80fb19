// SPDX-License-Identifier: BSD-3-Clause
// Measures over TCP how far the server's clock is ahead of the local clock: `clock_client ADDRESS [COUNT]`. Measures
// about five times a second, and ends after COUNT measurements. If COUNT is 0, the default, it never ends.
#include <cstdlib>

#include <examples/roundtrip/clock_exchange.h>
#include <examples/shared/service.h>

#include <peal/net/client.h>

int main(int argc, char** argv) {
  using namespace peal;
  using namespace peal::examples;
  if (argc < 2) {
    fmt::print(stderr, "usage: clock_client ADDRESS [COUNT]\n");
    return 2;
  }
  const int count = std::atoi(argument(argc, argv, 2, "0").c_str());
  int done = 0;
  Loop loop;
  auto ask = [](Connection& connection) {
    const ClockExchange exchange{.sent = ClockExchange::now()};
    connection.send(exchange.bytes());
  };
  auto on_message = [&](Connection& connection, Buffer& input) {
    while (input.size() >= sizeof(ClockExchange)) {
      const ClockExchange exchange = ClockExchange::from(input.view(sizeof(ClockExchange)));
      input.consume(sizeof(ClockExchange));
      const ClockReading reading = read_clock(exchange, ClockExchange::now());
      fmt::print("round trip {} us, clock ahead by {} us\n", reading.round_trip_microseconds,
                 reading.offset_microseconds);
      std::fflush(stdout);
      if (++done == count) return loop.stop();
      loop.after(std::chrono::milliseconds(200), [&, handle = connection.handle()] { handle.run(ask); });
    }
  };
  Client client(loop,
                {.on_open = ask, .on_message = on_message, .on_close = [&](Connection&, CloseReason) { loop.stop(); }},
                {}, [&](std::error_code error, Duration) {
                  failed("cannot connect", error);
                  loop.stop();
                });
  if (auto started = client.connect(argv[1]); !started) return failed(argv[1], started.error());
  const int ran = run(loop);
  return ran == 0 && done < count ? 1 : ran;
}
