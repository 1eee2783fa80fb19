// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/service_manager.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>

#include <peal/base/log.h>
#include <peal/base/socket_address.h>
#include <peal/wire/parse_text.h>

namespace peal {
namespace {

constexpr int kFirstInherited = 3;  // SD_LISTEN_FDS_START
constexpr int64_t kMostInherited = 4096;

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// Returns whether the fd was inherited through execve(2). An fd that is close-on-exec was not inherited: this process
// has opened it itself, and it got a number that was free.
bool is_inherited(int fd) {
  const int flags = ::fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

// Removes the first name from a list such as "front:admin" and returns it, or "unknown" if the name is empty.
std::string next_name(std::string_view& names) {
  const size_t end = std::min(names.find(':'), names.size());
  std::string name(names.substr(0, end));
  names.remove_prefix(std::min(end + 1, names.size()));
  return name.empty() ? "unknown" : name;
}

}  // namespace

std::vector<InheritedSocket> take_listen_fds() {
  std::vector<InheritedSocket> sockets;
  const int64_t count = parse_text<int64_t>(variable("LISTEN_FDS")).value_or(0);
  if (parse_text<int64_t>(variable("LISTEN_PID")) == ::getpid() && count > 0 && count <= kMostInherited) {
    std::string_view names = variable("LISTEN_FDNAMES");
    for (int fd = kFirstInherited; fd < kFirstInherited + static_cast<int>(count); ++fd) {
      std::string name = next_name(names);
      if (is_inherited(fd) && ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) {
        sockets.emplace_back(Fd(fd), std::move(name));
      } else {
        PEAL_LOG_WARN("LISTEN_FDS promises fd {} ({}), which is not open", fd, name);
      }
    }
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  return sockets;
}

std::vector<InheritedSocket> take_named(std::vector<InheritedSocket>& sockets, std::string_view name, bool or_all) {
  const auto is_named = [name](const InheritedSocket& socket) { return socket.name == name; };
  const bool all = or_all && std::ranges::none_of(sockets, is_named);
  std::vector<InheritedSocket> taken;
  for (InheritedSocket& socket : sockets) {
    if (all || is_named(socket)) taken.push_back(std::move(socket));
  }
  std::erase_if(sockets, [](const InheritedSocket& socket) { return !socket.fd; });
  return taken;
}

std::string describe(const InheritedSocket& socket) {
  const int fd = socket.fd.get();
  int type = 0;
  socklen_t size = sizeof type;
  const std::string which = fmt::format("fd {} ({})", fd, socket.name);
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return which + ", no socket";
  sockaddr_storage room{};
  size = sizeof room;
  const auto* address = reinterpret_cast<sockaddr*>(&room);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&room), &size) != 0) size = 0;
  const char* kind = type == SOCK_STREAM ? "stream" : type == SOCK_DGRAM ? "datagram" : "packet";
  return fmt::format("{}, a {} socket at {}", which, kind, SocketAddress::from_kernel(address, size).to_string());
}

ServiceManager::ServiceManager() : notify_socket_(variable("NOTIFY_SOCKET")) {
  const int64_t microseconds = parse_text<int64_t>(variable("WATCHDOG_USEC")).value_or(0);
  const std::string_view whose = variable("WATCHDOG_PID");
  if (microseconds > 0 && (whose.empty() || parse_text<int64_t>(whose) == ::getpid())) {
    constexpr int64_t kMost = std::chrono::duration_cast<std::chrono::microseconds>(kLongest).count();
    watchdog_interval_ = std::chrono::microseconds(std::min(microseconds, kMost));
  }
}

Result<void> ServiceManager::notify(std::string_view lines) const {
  if (!present()) return {};
  if (!notify_socket_.starts_with('/') && !notify_socket_.starts_with('@')) return fail(ENOTSUP);
  const Result<SocketAddress> address = SocketAddress::parse("unix:" + notify_socket_);
  if (!address) return fail(ENAMETOOLONG);
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(errno);
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const ssize_t sent =
      ::sendto(socket.get(), lines.data(), lines.size(), MSG_NOSIGNAL, address->data(), address->size());
  if (sent < 0) return fail(errno);
  return {};
}

void ServiceManager::notify_or_log(std::string_view lines) const {
  if (const Result<void> sent = notify(lines); !sent) {
    PEAL_LOG_WARN("{} cannot be sent to the service manager at {}: {}", lines.substr(0, lines.find('\n')),
                  notify_socket_, sent.error().message());
  }
}

void ServiceManager::ready(std::string_view status) const {
  std::string line(status);
  std::ranges::replace(line, '\n', ' ');
  notify_or_log(line.empty() ? "READY=1" : fmt::format("READY=1\nSTATUS={}", line));
}

void ServiceManager::reloading() const {
  // MONOTONIC_USEC must be a time of CLOCK_MONOTONIC, which monotonic_now() reads.
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now().time_since_epoch());
  notify_or_log(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now.count()));
}

void ServiceManager::stopping() const { notify_or_log("STOPPING=1"); }

void ServiceManager::status(std::string_view text) const {
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  notify_or_log("STATUS=" + line);
}

void ServiceManager::watchdog() const { notify_or_log("WATCHDOG=1"); }

void ServiceManager::succeeded_by(pid_t pid) const {
  notify_or_log(fmt::format("MAINPID={0}\nREADY=1\nSTATUS=process {0} serves", pid));
}

void ServiceManager::watch(Loop& loop) const {
  if (!watchdog_interval_ || !present()) return;
  loop.every(std::max<Duration>(*watchdog_interval_ / 2, std::chrono::milliseconds(1)), [this] { watchdog(); });
}

}  // namespace peal
