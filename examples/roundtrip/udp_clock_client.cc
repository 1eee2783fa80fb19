// SPDX-License-Identifier: BSD-3-Clause
// Measures over UDP how far the server's clock is ahead of the local clock: `udp_clock_client ADDRESS [COUNT]`.
// Measures five times a second. Ends after COUNT answers. If COUNT is 0, the default, it never ends. A lost datagram is
// not sent again.
#include <sys/socket.h>

#include <cstdlib>

#include <examples/roundtrip/clock_exchange.h>
#include <examples/shared/service.h>

#include <peal/net/datagram_socket.h>

int main(int argc, char** argv) {
  using namespace peal;
  using namespace peal::examples;
  const auto server = SocketAddress::parse(argument(argc, argv, 1, ""));
  if (!server) {
    fmt::print(stderr, "usage: udp_clock_client ADDRESS [COUNT]\n");
    return argc < 2 ? 2 : failed(argv[1], server.error());
  }
  const int count = std::atoi(argument(argc, argv, 2, "0").c_str());
  int done = 0;
  int exit_code = 0;
  Loop loop;
  auto on_datagram = [&](DatagramSocket&, const SocketAddress& from, Buffer& bytes) {
    if (from != *server || bytes.size() != sizeof(ClockExchange)) return;
    const ClockReading reading = read_clock(ClockExchange::from(bytes.view()), ClockExchange::now());
    fmt::print("round trip {} us, clock ahead by {} us\n", reading.round_trip_microseconds,
               reading.offset_microseconds);
    std::fflush(stdout);
    if (++done == count) loop.stop();
  };
  auto on_error = [&](DatagramSocket&, std::error_code error) {
    exit_code = failed("no answer", error);
    loop.stop();
  };
  DatagramSocket socket(loop, {.on_datagram = on_datagram, .on_error = on_error});
  loop.post([&] {
    if (auto bound = socket.open(server->family() == AF_INET6 ? "[::]:0" : "0.0.0.0:0"); !bound) {
      exit_code = failed("cannot open a socket", bound.error());
      return loop.stop();
    }
    loop.every(std::chrono::milliseconds(200), [&] {
      const ClockExchange exchange{.sent = ClockExchange::now()};
      if (auto sent = socket.send_to(*server, exchange.bytes()); !sent) failed("not sent", sent.error());
    });
  });
  const int ran = run(loop);
  return ran == 0 ? exit_code : ran;
}
