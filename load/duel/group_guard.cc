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

// The guard sends SIGTERM to the group. Then it checks every 50 ms whether the group has ended, at most 100 times.
// After at most 5 s, it sends SIGKILL.
constexpr timespec kWait{.tv_sec = 0, .tv_nsec = 50'000'000};
constexpr int kMostWaits = 100;

// Runs in the child process after fork(2). If another thread of the parent held a lock during fork(2), the lock stays
// locked in the child forever. So this function makes only calls that take no lock.
[[noreturn]] void stand_guard(int pipe, int group) {
  ::setpgid(0, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  // Each guard has a pipe whose write end is held by the parent process. When the parent ends, the write end is closed,
  // and read(2) in the guard returns. But fork(2) has copied all open write ends into this process: that of its own
  // pipe and those of earlier guards. If a copy stayed open, read(2) would not return. So this process closes all
  // descriptors except the read end of its own pipe, which becomes stdin.
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
