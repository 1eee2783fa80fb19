// SPDX-License-Identifier: BSD-3-Clause
// A relay: it opens a connection to UPSTREAM for each client, and passes all bytes on. `tcp_relay UPSTREAM [ADDRESS]`
#include <examples/relay/upstream.h>
#include <examples/shared/service.h>

using namespace peal;

int main(int argc, char** argv) {
  const std::string upstream = examples::argument(argc, argv, 1, "");
  Result<SocketAddress> address = SocketAddress::parse(upstream);
  if (!address) return examples::failed("cannot use UPSTREAM '" + upstream + "'", address.error());
  Loop loop;
  Server server(loop, {.on_open = [address = *address](Connection& client) { examples::relay(client, address); }});
  return examples::listen(server, examples::argument(argc, argv, 2, "127.0.0.1:2024")) ? examples::run(loop) : 1;
}
