// SPDX-License-Identifier: BSD-3-Clause
// Where `peal serve` listens: on the sockets that a service manager opened (LISTEN_FDS), or, where there are none, on
// the address it was given. Of the sockets it takes those named "peal" (FileDescriptorName=), or all where none is.
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

// Each address once, the first is that of the first socket; or a sentence that says what cannot be listened on, and
// why.
using Listening = std::expected<std::vector<SocketAddress>, std::string>;

// `inherited` is what take_listen_fds() answered when the command began; `text` is what `address` was read from.
Listening listen_alone(Server& server, std::vector<InheritedSocket> inherited, const SocketAddress& address,
                       const std::string& text);
Listening listen_as_worker(Server& server, Worker& worker);
Listening listen_as_master(Master& master, const std::string& text);

// A line for each. False, and complained of: it could not be written.
bool say_listening(std::span<const SocketAddress> addresses);

}  // namespace peal::cli
