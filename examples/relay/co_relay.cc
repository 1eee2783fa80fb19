// SPDX-License-Identifier: BSD-3-Clause
// The relay of tcp_relay.cc as a coroutine. It opens a connection to UPSTREAM for each client and passes all bytes on.
// `co_relay UPSTREAM [ADDRESS]`
#include <examples/shared/service.h>

#include <peal/coro/co_server.h>
#include <peal/coro/connect.h>
#include <peal/sync/pipe_streams.h>

using namespace peal;

// Quoted in docs: [relay]
Task<> relay(Stream client, const std::string& upstream) {
  auto server = co_await connect(upstream);
  if (!server) co_return client.abort();
  co_await pipe(client, *server);
}
// End of quote: [relay]

int main(int argc, char** argv) {
  const std::string upstream = examples::argument(argc, argv, 1, "");
  if (auto address = SocketAddress::parse(upstream); !address) {
    return examples::failed("cannot use UPSTREAM '" + upstream + "'", address.error());
  }
  Loop loop;
  CoServer server(loop, [&](Stream client) { return relay(std::move(client), upstream); });
  return examples::listen(server.server(), examples::argument(argc, argv, 2, "127.0.0.1:2024")) ? examples::run(loop)
                                                                                                : 1;
}
