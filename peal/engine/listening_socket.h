// SPDX-License-Identifier: BSD-3-Clause
// Listening sockets that belong to no engine. A master process opens one, its workers inherit it, and
// Engine::adopt_listener() takes it over. These are plain functions of an fd, and may be called on any thread.
#pragma once

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/engine/socket_file.h>

namespace peal {

// Opens a listening socket as Engine::bind() does: calls socket(2), bind(2) and listen(2). The fd is close-on-exec.
Result<Fd> open_listening_socket(const SocketAddress& address, const ListenOptions& options);
// Returns the address at which the socket listens. ENOTSOCK: the fd is no socket. EINVAL: the socket does not listen,
// or is not a stream socket.
Result<SocketAddress> listening_address(int fd);
// Closes the listening socket. Removes its socket file if the path still leads to `file`.
void close_listening_socket(Fd fd, const SocketFile& file);

}  // namespace peal
