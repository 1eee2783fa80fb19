// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve/serve_listen.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <cli/command.h>
#include <peal/base/log.h>
#include <peal/engine/listening_socket.h>

namespace peal::cli {
namespace {

// Returns a sentence about the first socket that does not listen for connections, or an empty text if all of them do.
std::string inherited_trouble(std::span<const InheritedSocket> sockets) {
  for (const InheritedSocket& socket : sockets) {
    if (listening_address(socket.fd.get())) continue;
    return fmt::format("{} takes no connections: peal needs a stream socket that listens (ListenStream=)",
                       describe(socket));
  }
  return {};
}

void add_once(std::vector<SocketAddress>& addresses, const SocketAddress& address) {
  if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
}

}  // namespace

Listening listen_alone(Server& server, std::vector<InheritedSocket> inherited, const SocketAddress& address,
                       const std::string& text) {
  std::vector<InheritedSocket> sockets = take_named(inherited, "peal", true);
  for (const InheritedSocket& socket : inherited) {
    PEAL_LOG_WARN("no listener uses the inherited {}: closed", describe(socket));
  }
  if (std::string trouble = inherited_trouble(sockets); !trouble.empty()) return std::unexpected(std::move(trouble));
  std::vector<SocketAddress> addresses;
  if (sockets.empty()) {
    const Result<SocketAddress> bound = server.listen(address);
    if (!bound) return std::unexpected(listen_trouble(text, bound.error()));
    addresses.push_back(*bound);
  }
  for (InheritedSocket& socket : sockets) {
    const std::string what = describe(socket);
    const Result<SocketAddress> bound = server.listen(std::move(socket.fd));
    if (!bound) return std::unexpected(listen_trouble(what, bound.error()));
    add_once(addresses, *bound);
  }
  return addresses;
}

Listening listen_as_worker(Server& server, Worker& worker) {
  const Result<SocketAddress> bound = worker.listen(server);
  if (!bound) return std::unexpected(listen_trouble("the master's sockets", bound.error()));
  return std::vector{*bound};
}

Listening listen_as_master(Master& master, const std::string& text) {
  const Result<SocketAddress> bound = master.listen(text);
  if (bound) return master.addresses();
  std::string trouble = inherited_trouble(master.inherited());
  return std::unexpected(trouble.empty() ? listen_trouble(text, bound.error()) : std::move(trouble));
}

bool say_listening(std::span<const SocketAddress> addresses) {
  std::string lines;
  for (const SocketAddress& address : addresses) lines += fmt::format("listening on {}\n", address.to_string());
  if (say(stdout, lines)) return true;
  complain(kFailed, "the address could not be written to stdout");
  return false;
}

}  // namespace peal::cli
