// SPDX-License-Identifier: BSD-3-Clause
// Answers clock exchanges over UDP: `udp_clock_server [ADDRESS]`. See clock_exchange.h.
#include <examples/roundtrip/clock_exchange.h>
#include <examples/shared/service.h>

#include <peal/net/datagram_socket.h>

int main(int argc, char** argv) {
  using namespace peal;
  using namespace peal::examples;
  Loop loop;
  DatagramSocket socket(loop, {.on_datagram = [](DatagramSocket& self, const SocketAddress& from, Buffer& bytes) {
                          if (bytes.size() != sizeof(ClockExchange)) return;
                          ClockExchange exchange = ClockExchange::from(bytes.view());
                          exchange.answered = ClockExchange::now();
                          const auto sent = self.send_to(from, exchange.bytes());
                          if (!sent) failed("cannot send an answer, the client will ask again", sent.error());
                        }});
  int exit_code = 0;
  loop.post([&] {
    auto bound = socket.open(argument(argc, argv, 1, "127.0.0.1:3123"));
    if (!bound) {
      exit_code = failed("cannot bind", bound.error());
      return loop.stop();
    }
    fmt::print("listening on {}\n", bound->to_string());
    std::fflush(stdout);
  });
  const int ran = run(loop);
  return ran == 0 ? exit_code : ran;
}
