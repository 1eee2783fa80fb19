// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/group_guard.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <limits>

namespace peal::load {
namespace {

// Who has not gone 5 s after being asked is ended by force.
constexpr timespec kWait{.tv_sec = 0, .tv_nsec = 50'000'000};
constexpr int kMostWaits = 100;

// After fork() in a process that may have threads: nothing but system calls.
[[noreturn]] void stand_guard(int pipe, int group) {
  ::setpgid(0, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  // Other guards' pipes, and this one's own other end, would keep those open that wait for their end.
  ::dup2(pipe, STDIN_FILENO);
  ::close_range(STDIN_FILENO + 1, std::numeric_limits<unsigned>::max(), 0);
  char nothing = 0;
  while (::read(STDIN_FILENO, &nothing, 1) < 0 && errno == EINTR) {
  }
  ::kill(-group, SIGTERM);
  for (int waits = 0; waits < kMostWaits && ::kill(-group, 0) == 0; ++waits) ::nanosleep(&kWait, nullptr);
  ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

GroupGuard::GroupGuard(int group) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const Fd pipe(ends[0]);
  alive_ = Fd(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) stand_guard(pipe.get(), group);
}

GroupGuard::~GroupGuard() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace peal::load
