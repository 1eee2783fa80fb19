// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sync/adopt_stream.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <utility>

#include <peal/net/server.h>

namespace peal {

Result<LooseStream> connected_stream(Fd socket) {
  const int fd = socket.get();
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return fail(errno);
  if (type != SOCK_STREAM) return fail(EPROTOTYPE);
  sockaddr_storage peer{};
  size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return fail(errno);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return fail(errno);
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return fail(errno);
  return LooseStream(std::move(socket));
}

Result<Stream> adopt_stream(Loop& loop, Fd socket, const ConnectionOptions& options) {
  if (!loop.mailbox()->open()) return fail(Trouble::kLoopStopped);
  PEAL_ASSERT(loop.in_loop(), "adopt_stream() of fd {} is called outside its loop", socket.get());
  Result<LooseStream> loose = connected_stream(std::move(socket));
  if (!loose) return std::unexpected(loose.error());
  ServerOptions server_options;
  server_options.connection = options;
  server_options.connection.layer_later = options.layer != nullptr;
  detail::StreamState* adopted = nullptr;
  auto callbacks = detail::stream_callbacks([&adopted](Connection&, detail::StreamState& state) { adopted = &state; });
  auto server = std::make_shared<Server>(loop, std::move(callbacks), server_options);
  if (const Result<void> done = server->adopt(std::move(*loose)); !done) return std::unexpected(done.error());
  if (adopted == nullptr) return fail(ENOMEM);  // on_open, which makes the StreamState, threw
  adopted->keeper = std::move(server);
  return Stream(*adopted);
}

}  // namespace peal
