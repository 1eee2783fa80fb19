// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/held_by_parent.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <peal/engine/listening_socket.h>

namespace peal::detail {
namespace {

// Returns the sockets in a folder of open files such as /proc/self/fd. Each is returned as its fd and a text such as
// "socket:[7]", which identifies the socket in every process.
std::vector<std::pair<int, std::string>> sockets_in(const std::string& folder) {
  std::vector<std::pair<int, std::string>> sockets;
  std::error_code error;
  for (auto each = std::filesystem::directory_iterator(folder, error); each != std::filesystem::directory_iterator();
       each.increment(error)) {
    std::error_code unreadable;  // set if the fd was closed meanwhile
    std::string target = std::filesystem::read_symlink(each->path(), unreadable).string();
    if (target.starts_with("socket:")) sockets.emplace_back(std::stoi(each->path().filename()), std::move(target));
  }
  return sockets;
}

}  // namespace

std::optional<pid_t> parent_that_listens_too() {
  const pid_t parent = ::getppid();
  const auto theirs = sockets_in(fmt::format("/proc/{}/fd", parent));
  for (const auto& [number, socket] : sockets_in("/proc/self/fd")) {
    const bool shared = std::ranges::find(theirs, socket, &std::pair<int, std::string>::second) != theirs.end();
    if (shared && listening_address(number)) return parent;
  }
  return std::nullopt;
}

}  // namespace peal::detail
