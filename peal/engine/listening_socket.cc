// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/listening_socket.h>

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include <peal/engine/parts/socket_setup.h>

namespace peal {
Result<Fd> open_listening_socket(const SocketAddress& address, const ListenOptions& options) {
  return detail::open_listener(address, options);
}

Result<SocketAddress> listening_address(int fd) {
  int listens = 0;
  int type = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) return fail(errno);
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return fail(errno);
  if (listens == 0 || type != SOCK_STREAM) return fail(EINVAL);
  return detail::local_address(fd);
}

void close_listening_socket(Fd fd, const SocketFile& file) {
  file.remove();
  fd.reset();
}

}  // namespace peal
