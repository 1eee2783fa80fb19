// SPDX-License-Identifier: BSD-3-Clause
// Functions that make `peal serve` listen. A service manager may pass it sockets that are already open (LISTEN_FDS).
// The server uses the sockets with the name "peal" (FileDescriptorName=), or all sockets if none has this name. If
// there are no sockets at all, the server listens on the address of --listen.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <vector>

#include <peal/net/server.h>
#include <peal/process/master.h>
#include <peal/process/service_manager.h>
#include <peal/process/worker.h>

namespace peal::cli {

// The addresses that the server listens on, in the order of its sockets. Each address appears once, even if several
// sockets have it. On failure, the error is a sentence that names the address or socket that failed, and the reason.
using Listening = std::expected<std::vector<SocketAddress>, std::string>;

// Makes `server` listen in a process that has no master. Uses the sockets that a service manager has passed, or
// `address` if there are none. `inherited` is the result of take_listen_fds(). `text` is `address` as the user has
// written it, for error messages.
Listening listen_alone(Server& server, std::vector<InheritedSocket> inherited, const SocketAddress& address,
                       const std::string& text);
Listening listen_as_worker(Server& server, Worker& worker);
Listening listen_as_master(Master& master, const std::string& text);

// Prints "listening on ADDRESS" for each address. If stdout cannot be written, prints an error message and returns
// false.
bool say_listening(std::span<const SocketAddress> addresses);

}  // namespace peal::cli
