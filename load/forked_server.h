// SPDX-License-Identifier: BSD-3-Clause
// Helpers for tests: they fork processes and control them step by step through pipes.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include <load/process_files.h>
#include <peal/base/assert.h>

namespace peal::load {

// Lets one process wait for another one. tell() writes a number into a pipe. await() waits for a number from the pipe
// and returns it. Create the PipeSignal before the fork, so that both processes have the pipe.
class PipeSignal {
 public:
  PipeSignal() {
    const int done = ::pipe(ends_.data());
    PEAL_ASSERT(done == 0, "pipe() failed with errno {}", errno);
  }
  ~PipeSignal() {
    for (const int end : ends_) ::close(end);
  }
  PipeSignal(const PipeSignal&) = delete;
  PipeSignal& operator=(const PipeSignal&) = delete;

  void tell(int64_t value = 0) {
    const ssize_t size = ::write(ends_[1], &value, sizeof value);
    PEAL_ASSERT(size == sizeof value, "PipeSignal::tell() failed with errno {}", errno);
  }
  int64_t await() {
    int64_t value = 0;
    const ssize_t size = ::read(ends_[0], &value, sizeof value);
    PEAL_ASSERT(size == sizeof value, "PipeSignal::await() failed with errno {}", errno);
    return value;
  }
  int read_end() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
};

// Keeps the CPU busy until the calling process has used the CPU time `cpu` in this call. On a busy machine, this takes
// longer than `cpu` in real time.
inline void burn(Duration cpu) {
  const Duration end = *cpu_time(CLOCK_PROCESS_CPUTIME_ID) + cpu;
  while (*cpu_time(CLOCK_PROCESS_CPUTIME_ID) < end) {
  }
}

// Forks a child process that calls `life` and then exits. Returns the child's pid. SIGALRM kills the child if it still
// runs after 60 s, so that no child stays behind when a test forgets to end it.
template <class Life>
int fork_child(Life life) {
  const int pid = ::fork();
  PEAL_ASSERT(pid >= 0, "fork() failed with errno {}", errno);
  if (pid == 0) {
    ::alarm(60);
    life();
    ::_exit(0);
  }
  return pid;
}

inline void wait_for(int pid) {
  const int waited = ::waitpid(pid, nullptr, 0);
  PEAL_ASSERT(waited == pid, "waitpid({}) returned {}, errno {}", pid, waited, errno);
}

// The server process of a test. The process may fork children. The destructor kills the server process. It does not
// kill the children, because it does not know their pids. They must end by themselves.
class ForkedServer {
 public:
  template <class Life>
  explicit ForkedServer(Life life) : pid_(fork_child(std::move(life))) {}
  ~ForkedServer() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    wait_for(pid_);
  }
  ForkedServer(const ForkedServer&) = delete;
  ForkedServer& operator=(const ForkedServer&) = delete;

  int pid() const { return pid_; }
  // Waits until the server process has ended. Returns its CPU time. This includes the CPU time of the ended children
  // for which the server process has waited.
  Duration finish() {
    rusage used{};
    const int waited = ::wait4(std::exchange(pid_, 0), nullptr, 0, &used);
    PEAL_ASSERT(waited > 0, "wait4() failed with errno {}", errno);
    return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  }

 private:
  int pid_;
};

}  // namespace peal::load
