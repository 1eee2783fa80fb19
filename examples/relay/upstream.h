// SPDX-License-Identifier: BSD-3-Clause
// relay(): opens a connection to the upstream server for one client, and joins the two connections by a pipe.
#pragma once

#include <memory>

#include <peal/net/client.h>
#include <peal/net/pipe.h>

namespace peal::examples {

// Owns the connection to the upstream server. Two places keep an Upstream alive: the context of the client's
// connection, and the callback of the pipe that joins the two connections. An Upstream therefore lives until both
// connections have ended.
struct Upstream {
  std::unique_ptr<Client> client;
};

inline void relay(Connection& client, const SocketAddress& address) {
  client.pause();  // reads nothing until the upstream is connected
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
