// SPDX-License-Identifier: BSD-3-Clause
// Joins each client with a connection of its own to one upstream. `tcp_relay UPSTREAM [ADDRESS]`
#include <examples/shared/service.h>

#include <peal/net/client.h>
#include <peal/net/pipe.h>

using namespace peal;

namespace {

// The way to the upstream: kept by the client's connection until they are joined, then by the pipe until both are gone.
struct Upstream {
  std::unique_ptr<Client> client;
};

void relay(Connection& client, const SocketAddress& address) {
  client.pause();  // until there is somebody to hear it
  auto upstream = std::make_shared<Upstream>();
  auto join = [which = client.handle(), weak = std::weak_ptr(upstream)](Connection& to) {
    which.run([&](Connection& from) {
      Result<void> joined = pipe(from, to, {}, [keep = weak.lock()](const PipeReport&) {});
      if (!joined) to.close();
    });
  };
  auto give_up = [which = client.handle()](std::error_code, Duration) { which.abort(); };
  upstream->client =
      std::make_unique<Client>(client.loop(), ConnectionCallbacks{.on_open = join}, ClientOptions{}, give_up);
  client.emplace_context<std::shared_ptr<Upstream>>(upstream);
  if (!upstream->client->connect(address)) client.abort();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string upstream = examples::argument(argc, argv, 1, "");
  Result<SocketAddress> address = SocketAddress::parse(upstream);
  if (!address) return examples::failed("no address: " + upstream, address.error());
  Loop loop;
  Server server(loop, {.on_open = [address = *address](Connection& client) { relay(client, address); }});
  return examples::listen(server, examples::argument(argc, argv, 2, "127.0.0.1:2024")) ? examples::run(loop) : 1;
}
