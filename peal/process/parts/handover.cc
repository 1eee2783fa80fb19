// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/handover.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <string_view>

#include <fmt/format.h>

#include <peal/base/log.h>
#include <peal/wire/parse_text.h>

namespace peal::detail {
namespace {

constexpr const char* kPredecessor = "PEAL_PREDECESSOR";
constexpr const char* kSocketFiles = "PEAL_SOCKET_FILES";
constexpr int kFirst = 3;
constexpr int kExecFailed = 127;

// Duplicates `fds` to the numbers 3, 4, ... without close-on-exec. First duplicates each fd to a number above these, so
// that dup2(2) overwrites none of them. Returns false on failure, with errno set.
bool line_up(std::vector<int> fds) {
  const int end = kFirst + static_cast<int>(fds.size());
  for (int& fd : fds) {
    fd = ::fcntl(fd, F_DUPFD_CLOEXEC, end);
    if (fd < 0) return false;
  }
  for (int target = kFirst; const int fd : fds) {
    if (::dup2(fd, target++) < 0) return false;
  }
  return true;
}

// Returns the fds in an environment variable such as "3:4". Leaves out texts that are no number, and numbers below 3,
// because a predecessor hands over only fds from 3 on.
std::vector<int> fds_of(const char* variable) {
  std::vector<int> fds;
  const char* text = std::getenv(variable);
  for (const auto& part : std::views::split(std::string_view(text == nullptr ? "" : text), ':')) {
    const std::string_view digits(part.begin(), part.end());
    if (const auto fd = parse_text<int>(digits); fd && *fd >= kFirst) fds.push_back(*fd);
  }
  return fds;
}

// Runs in the child after fork(2): prepares the fds and the environment, and executes the new program.
[[noreturn]] void become_successor(CommandLine& command, std::span<const SocketGroup> groups, int report_to,
                                   const sigset_t& mask) {
  std::vector<int> fds;
  std::string names;
  std::string with_files;
  for (const SocketGroup& group : groups) {
    for (const Fd& socket : group.sockets()) {
      const std::string target = std::to_string(kFirst + static_cast<int>(fds.size()));
      if (group.owns_file()) with_files += (with_files.empty() ? "" : ":") + target;
      fds.push_back(socket.get());
      names += (names.empty() ? "" : ":") + group.name();
    }
  }
  const std::string count = std::to_string(fds.size());
  const std::string self = std::to_string(::getpid());
  const std::string last = std::to_string(kFirst + static_cast<int>(fds.size()));
  fds.push_back(report_to);
  if (!line_up(std::move(fds))) {
    PEAL_LOG_ERROR("the listening sockets cannot be handed over to the new program: {}", errno_code(errno).message());
    ::_exit(kExecFailed);
  }
  ::setenv("LISTEN_FDS", count.c_str(), 1);
  ::setenv("LISTEN_PID", self.c_str(), 1);
  ::setenv("LISTEN_FDNAMES", names.c_str(), 1);
  ::setenv(kPredecessor, last.c_str(), 1);
  ::setenv(kSocketFiles, with_files.c_str(), 1);
  // WATCHDOG_PID names the process that the service manager watches. This process will be the main process of the
  // service, so it is watched from then on.
  if (std::getenv("WATCHDOG_PID") != nullptr) ::setenv("WATCHDOG_PID", self.c_str(), 1);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  command.execute();
}

}  // namespace

CommandLine::CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string argument; std::getline(file, argument, '\0');) arguments_.push_back(argument);
  if (arguments_.empty()) arguments_.emplace_back("/proc/self/exe");
  program_ = arguments_.front();
  std::error_code error;
  if (program_.contains('/')) program_ = std::filesystem::absolute(program_, error).string();
}

void CommandLine::execute() {
  std::vector<char*> argv;
  argv.reserve(arguments_.size() + 1);
  for (std::string& argument : arguments_) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execvp(program_.c_str(), argv.data());
  PEAL_LOG_ERROR("{} cannot be executed: {}", program_, errno_code(errno).message());
  ::_exit(kExecFailed);
}

Result<pid_t> start_successor(CommandLine& command, std::span<const SocketGroup> groups, int report_to,
                              const sigset_t& mask) {
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno);
  if (pid == 0) become_successor(command, groups, report_to, mask);
  return pid;
}

Predecessor take_predecessor() {
  Predecessor predecessor;
  const std::vector<int> report_to = fds_of(kPredecessor);
  const std::vector<int> with_files = fds_of(kSocketFiles);
  if (report_to.size() == 1 && ::fcntl(report_to.front(), F_SETFD, FD_CLOEXEC) == 0) {
    predecessor = {.report_to = Fd(report_to.front()), .fds_with_files = with_files};
  }
  ::unsetenv(kPredecessor);
  ::unsetenv(kSocketFiles);
  return predecessor;
}

}  // namespace peal::detail
