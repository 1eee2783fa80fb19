// SPDX-License-Identifier: BSD-3-Clause
// What relays do with a client: a connection of its own to the upstream, and a pipe between the two.
#pragma once

#include <memory>

#include <peal/net/client.h>
#include <peal/net/pipe.h>

namespace peal::examples {

// The way to the upstream: kept by the client's connection until they are joined, then by the pipe until both are gone.
struct Upstream {
  std::unique_ptr<Client> client;
};

inline void relay(Connection& client, const SocketAddress& address) {
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

}  // namespace peal::examples
