// SPDX-License-Identifier: BSD-3-Clause
#include <cli/doctor/kernel_probes.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <peal/base/fd.h>
#include <peal/engine/engines.h>

namespace peal::cli {
namespace {

std::string errno_text() { return std::generic_category().message(errno); }

std::string try_option(int option, int value) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return errno_text();
  return ::setsockopt(socket.get(), SOL_SOCKET, option, &value, sizeof value) == 0 ? "" : errno_text();
}

std::string try_ipv6() {
  const Fd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return errno_text();
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? "" : errno_text();
}

// Calls epoll_pwait2 with the invalid fd -1. Returns the error text if the kernel does not have this system call
// (ENOSYS), or if a seccomp filter forbids it (EPERM). Any other error, such as EBADF for the fd -1, means that the
// system call works.
std::string try_epoll_pwait2() {
  char room[64];
  errno = 0;
  ::syscall(SYS_epoll_pwait2, -1, room, 1, nullptr, nullptr, size_t{0});
  return errno == ENOSYS || errno == EPERM ? errno_text() : "";
}

}  // namespace

KernelProbes probe_kernel() {
  return {.io_uring = why_unsupported("io_uring"),
          .epoll = why_unsupported("epoll"),
          .epoll_pwait2 = try_epoll_pwait2(),
          .reuse_port = try_option(SO_REUSEPORT, 1),
          .incoming_cpu = try_option(SO_INCOMING_CPU, 0),
          .ipv6 = try_ipv6()};
}

}  // namespace peal::cli
