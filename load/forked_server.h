// SPDX-License-Identifier: BSD-3-Clause
// ForkedServer: for tests, processes that do as they are told, in step with the test by way of pipes.
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

// Told once, awaited once, by processes that were forked after it was made. Values go with it.
class PipeSignal {
 public:
  PipeSignal() {
    const int done = ::pipe(ends_.data());
    PEAL_ASSERT(done == 0, "no pipe: errno {}", errno);
  }
  ~PipeSignal() {
    for (const int end : ends_) ::close(end);
  }
  PipeSignal(const PipeSignal&) = delete;
  PipeSignal& operator=(const PipeSignal&) = delete;

  void tell(int64_t value = 0) {
    const ssize_t size = ::write(ends_[1], &value, sizeof value);
    PEAL_ASSERT(size == sizeof value, "telling failed with errno {}", errno);
  }
  int64_t await() {
    int64_t value = 0;
    const ssize_t size = ::read(ends_[0], &value, sizeof value);
    PEAL_ASSERT(size == sizeof value, "awaiting failed with errno {}", errno);
    return value;
  }
  int read_end() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
};

// Uses so much of the calling process's CPU time, however long that takes.
inline void burn(Duration cpu) {
  const Duration end = *cpu_time(CLOCK_PROCESS_CPUTIME_ID) + cpu;
  while (*cpu_time(CLOCK_PROCESS_CPUTIME_ID) < end) {
  }
}

// A child that lives `life` and ends; before a minute is over, should its test have failed to end it.
template <class Life>
int fork_child(Life life) {
  const int pid = ::fork();
  PEAL_ASSERT(pid >= 0, "no child: errno {}", errno);
  if (pid == 0) {
    ::alarm(60);
    life();
    ::_exit(0);
  }
  return pid;
}

inline void wait_for(int pid) {
  const int waited = ::waitpid(pid, nullptr, 0);
  PEAL_ASSERT(waited == pid, "waiting for {} gave {}, errno {}", pid, waited, errno);
}

// The server under test: the root of the tree. Killed when it is forgotten; its children must end by themselves.
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
  // Waits for its end; what it and all it waited for have used, as the kernel adds it up.
  Duration finish() {
    rusage used{};
    const int waited = ::wait4(std::exchange(pid_, 0), nullptr, 0, &used);
    PEAL_ASSERT(waited > 0, "waiting failed with errno {}", errno);
    return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  }

 private:
  int pid_;
};

}  // namespace peal::load
