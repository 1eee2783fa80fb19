// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/plain_sockets.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>
#include <utility>

namespace peal::models {

// Sets TCP_NODELAY. Ignores an error of setsockopt(2), because `fd` may be a unix socket. A unix socket does not have
// this option, and does not need it.
void send_without_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Result<Fd> listen_at(const SocketAddress& address, Blocking blocking, Shared shared) {
  const int flags = blocking == Blocking::kYes ? SOCK_CLOEXEC : SOCK_CLOEXEC | SOCK_NONBLOCK;
  Fd fd(::socket(address.family(), SOCK_STREAM | flags, 0));
  if (!fd) return fail(errno);
  const int on = 1;
  if (address.is_ip()) {
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    send_without_delay(fd.get());
  }
  if (shared == Shared::kYes && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
    return fail(errno);
  }
  if (::bind(fd.get(), address.data(), address.size()) != 0) return fail(errno);
  if (::listen(fd.get(), kBacklog) != 0) return fail(errno);
  return fd;
}

Result<SocketAddress> address_of_socket(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return fail(errno);
  return SocketAddress::from_kernel(reinterpret_cast<const sockaddr*>(&storage), size);
}

Result<std::vector<Fd>> share_listening(Fd first, size_t count, Blocking blocking) {
  const Result<SocketAddress> address = address_of_socket(first.get());
  if (!address) return std::unexpected(address.error());
  std::vector<Fd> listeners;
  listeners.reserve(count);
  listeners.push_back(std::move(first));
  while (listeners.size() < count) {
    Result<Fd> next = listen_at(*address, blocking, Shared::kYes);
    if (!next) return std::unexpected(next.error());
    listeners.push_back(std::move(*next));
  }
  return listeners;
}

Accepted accept_one(int listener, Blocking blocking) {
  const int flags = blocking == Blocking::kYes ? SOCK_CLOEXEC : SOCK_CLOEXEC | SOCK_NONBLOCK;
  for (;;) {
    Fd socket(::accept4(listener, nullptr, nullptr, flags));
    if (socket) return {CallOutcome::kDone, std::move(socket)};
    switch (errno) {
      case EAGAIN: return {CallOutcome::kWouldBlock};
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM: return {CallOutcome::kNoRoom};
      case EINVAL:
      case EBADF: return {CallOutcome::kEnd};
      default: continue;  // EINTR, or a connection that failed in the backlog (accept(2), ERRORS)
    }
  }
}

void wait_for_room() { std::this_thread::sleep_for(kRoomPause); }

Moved read_some(int fd, EchoBytes& buffer) {
  const std::span<std::byte> room = buffer.room();
  ssize_t got = 0;
  do {
    got = ::read(fd, room.data(), room.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) return {errno == EAGAIN ? CallOutcome::kWouldBlock : CallOutcome::kEnd};
  if (got == 0) return {CallOutcome::kEnd};
  buffer.filled(static_cast<size_t>(got));
  return {CallOutcome::kDone, static_cast<size_t>(got)};
}

Moved write_some(int fd, EchoBytes& buffer) {
  const std::span<const std::byte> answer = buffer.answer();
  ssize_t sent = 0;
  do {
    sent = ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return {errno == EAGAIN ? CallOutcome::kWouldBlock : CallOutcome::kEnd};
  buffer.sent(static_cast<size_t>(sent));
  return {CallOutcome::kDone, static_cast<size_t>(sent)};
}

}  // namespace peal::models
