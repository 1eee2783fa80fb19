// SPDX-License-Identifier: BSD-3-Clause
// A user's first test: a server and a client of an installed peal, in the installed simulator.
#include <string>

#include <peal/net/client.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>

int main() {
  peal::SimWorld world(1);
  peal::SimLoop loop(world);
  peal::ConnectionCallbacks echoing;
  echoing.on_message = [](peal::Connection& connection, peal::Buffer& input) { connection.send(std::move(input)); };
  peal::Server server(*loop, std::move(echoing));
  const peal::SocketAddress address = peal::SocketAddress::parse("10.0.0.1:7").value();
  if (!server.listen(address)) return 1;

  std::string answer;
  peal::ConnectionCallbacks asking;
  asking.on_open = [](peal::Connection& connection) { connection.send("simulated"); };
  asking.on_message = [&](peal::Connection& connection, peal::Buffer& input) {
    answer += input.view();
    input.consume(input.size());
    connection.close();
  };
  peal::Client client(*loop, std::move(asking));
  client.connect(address);
  world.run_for(std::chrono::seconds(1));
  return answer == "simulated" ? 0 : 1;
}
