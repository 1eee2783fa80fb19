// SPDX-License-Identifier: BSD-3-Clause
// Prints the changes in a folder, until Ctrl-C or until the folder is gone: `follow_folder [FOLDER]`. The kernel
// reports changes through an fd, see inotify(7). A Watch calls a function on the loop when the fd is readable. The loop
// can do other work meanwhile.
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include <examples/shared/service.h>

#include <peal/loop/watch.h>

namespace {

using peal::Fd;
using peal::Readiness;
using peal::Watch;

constexpr uint32_t kChanges = IN_CREATE | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

std::string_view what_happened(uint32_t mask) {
  constexpr std::array<std::pair<uint32_t, std::string_view>, 7> kWords{{{IN_CREATE, "made"},
                                                                         {IN_CLOSE_WRITE, "written"},
                                                                         {IN_DELETE, "deleted"},
                                                                         {IN_MOVED_FROM, "moved away"},
                                                                         {IN_MOVED_TO, "moved here"},
                                                                         {IN_Q_OVERFLOW, "changes lost: queue is full"},
                                                                         {IN_IGNORED, "the folder is gone"}}};
  for (const auto& [bit, word] : kWords) {
    if ((mask & bit) != 0) return word;
  }
  return "changed";
}

// Replaces control characters by '?'. A file name may contain any bytes, and control characters would move the cursor
// of the terminal.
std::string printable(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

// Prints `events`, which are the bytes that one read() of the inotify fd has returned. Returns false if the kernel does
// not watch the folder any more (IN_IGNORED), because the folder was deleted or its file system was unmounted.
bool print_changes(std::string_view events) {
  bool there = true;
  while (!events.empty()) {
    inotify_event event;
    events.copy(reinterpret_cast<char*>(&event), sizeof event);
    const std::string_view name = event.len > 0 ? events.data() + sizeof event : "";
    fmt::print("{}{}{}\n", what_happened(event.mask), name.empty() ? "" : " ", printable(name));
    if ((event.mask & IN_IGNORED) != 0) there = false;
    events.remove_prefix(sizeof event + event.len);
  }
  std::fflush(stdout);
  return there;
}

}  // namespace

int main(int argc, char** argv) {
  using peal::examples::failed;
  const std::string folder = peal::examples::argument(argc, argv, 1, ".");
  Fd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd) return failed("cannot start inotify", peal::errno_code(errno));
  if (::inotify_add_watch(fd.get(), folder.c_str(), kChanges | IN_ONLYDIR) < 0) {
    return failed(folder, peal::errno_code(errno));
  }
  peal::Loop loop;
  // Quoted in docs: [watch]
  const int inotify = fd.get();
  auto on_change = [&loop, inotify](Readiness) {
    std::array<char, 64 * 1024> bytes;
    const ssize_t size = ::read(inotify, bytes.data(), bytes.size());
    if (size > 0 && !print_changes({bytes.data(), static_cast<size_t>(size)})) loop.stop();
  };
  const Watch watch(loop, std::move(fd), {.readable = true}, on_change);
  // End of quote: [watch]
  fmt::print("following {}\n", folder);
  std::fflush(stdout);
  return peal::examples::run(loop);
}
