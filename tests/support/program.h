// SPDX-License-Identifier: BSD-3-Clause
// Program: runs a program of this build as a child process of the test. Its output goes into pipes. The program has a
// session of its own, so that every process it starts can be found.
//
// The destructor kills the program and all processes it has started. The kernel kills the program if the test dies.
// Processes that it leaves behind become children of the test (PR_SET_CHILD_SUBREAPER), so that a zombie stays until
// the test has seen it.
//
// A Program is used on one thread. If that thread ends first, the kernel kills the program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/socket_address.h>

namespace peal {

// How long a test waits for an event before it fails. Even a slow machine needs less time.
inline constexpr Duration kProgramPatience = std::chrono::seconds(30);

// Waits until poll(2) reports one of `events` for the fd, for example POLLIN. An error or a hang-up also ends the wait,
// because poll(2) always reports them. Returns false if nothing is reported within 30 s.
bool ready(int fd, short events);
bool readable(int fd);

class Program {
 public:
  // Runs `peal` with these arguments.
  explicit Program(std::vector<std::string> arguments) : Program("peal", std::move(arguments)) {}
  // Runs the program `name`, which is an absolute path, or a path in the build folder such as "examples/tcp_relay".
  Program(const std::string& name, std::vector<std::string> arguments);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Returns the pid of the program. Returns 0 after exit_code(), because the kernel may then give the pid to another
  // process.
  pid_t pid() const { return pid_; }
  // Reads the next line of stdout and returns it without the newline.
  std::string line();
  // Reads the next line of stdout, which must be "listening on " and an address. Returns the address.
  SocketAddress listening();
  void signal(int number) const;
  // Reads the rest of the output, waits until the program has ended, and returns its exit code. If a signal has ended
  // the program, returns the negative number of the signal, such as -9.
  int exit_code();
  // output() returns the part of stdout that line() has not returned. errors() returns all of stderr. Both are complete
  // after exit_code().
  const std::string& output() const { return output_; }
  const std::string& errors() const { return errors_; }

  // Returns the pids of all other processes in the program's session (setsid(2)), zombies included, in ascending order.
  // They are the processes that the program has started, directly or indirectly, because the session began with the
  // program. A process that has called setsid(2) itself is missing.
  std::vector<pid_t> others() const;
  // Waits until the program's session has no other process. Fails after 30 s. The program must have ended before this
  // call. Only then are its processes children of the test, so that the test can remove their zombies by waitpid(2).
  testing::AssertionResult others_end();
  // Returns the largest resident memory, in bytes, that the program has had so far (VmHWM, proc(5)).
  uint64_t peak_bytes() const;

 private:
  void drain();

  pid_t session_ = 0;
  pid_t pid_ = 0;  // 0 after the program has ended
  Fd ended_;       // a pidfd
  Fd out_;
  Fd err_;
  std::string output_;
  std::string errors_;
};

// Expects that `text` is one line that begins with "peal: ". Every complaint of `peal` on stderr has this form.
void expect_one_sentence(const std::string& text);

}  // namespace peal
