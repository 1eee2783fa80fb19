// SPDX-License-Identifier: BSD-3-Clause
// Answers clock exchanges over TCP: `clock_server [ADDRESS]`. See clock_exchange.h.
#include <examples/roundtrip/clock_exchange.h>
#include <examples/shared/service.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  auto on_message = [](peal::Connection& connection, peal::Buffer& input) {
    while (input.size() >= sizeof(ClockExchange)) {
      ClockExchange exchange = ClockExchange::from(input.view(sizeof(ClockExchange)));
      input.consume(sizeof(ClockExchange));
      exchange.answered = ClockExchange::now();
      connection.send(exchange.bytes());
    }
  };
  return serve(argc, argv, "127.0.0.1:3123", {.on_message = on_message});
}
