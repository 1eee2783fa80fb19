// SPDX-License-Identifier: BSD-3-Clause
// A socket that listens and belongs to no engine: a master opens it, its workers inherit it, Engine::adopt_listener()
// takes it. Plain functions of an fd; any thread.
#pragma once

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/engine/socket_file.h>

namespace peal {

// As Engine::bind(); close-on-exec.
Result<Fd> open_listening_socket(const SocketAddress& address, const ListenOptions& options);
// Where it listens. ENOTSOCK; EINVAL: it does not listen, or not for streams.
Result<SocketAddress> listening_address(int fd);
// Nobody shall listen there any more: closes it, and removes its socket file where that is still `file`.
void close_listening_socket(Fd fd, const SocketFile& file);

}  // namespace peal
