// SPDX-License-Identifier: BSD-3-Clause
// Program: a program of this build as a child of the test, with its output in pipes and in a session of its own, so
// that whatever it starts can be found. It is killed, and all it started, when the test leaves it; it dies with the
// test, too. The test becomes the parent of what the program leaves behind (PR_SET_CHILD_SUBREAPER): a zombie stays
// until it was seen. One thread, which outlives it.
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

// How long a test waits for what must come: nobody is that slow.
inline constexpr Duration kProgramPatience = std::chrono::seconds(30);

// Waits for the fd to be ready; false after too long.
bool ready(int fd, short events);
bool readable(int fd);

class Program {
 public:
  // `peal` with these arguments.
  explicit Program(std::vector<std::string> arguments) : Program("peal", std::move(arguments)) {}
  // `name` is below the folder of what was built, as "examples/tcp_relay", or an absolute path.
  Program(const std::string& name, std::vector<std::string> arguments);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // 0 once it has ended.
  pid_t pid() const { return pid_; }
  // The next line of its output, without the newline.
  std::string line();
  // The address at the end of its next line, which begins with "listening on ".
  SocketAddress listening();
  void signal(int number) const;
  // Waits for its end, reading what it still prints, and returns its exit code; what ended it otherwise is negative.
  int exit_code();
  // After exit_code().
  const std::string& output() const { return output_; }
  const std::string& errors() const { return errors_; }

  // The other processes of its session, zombies too, in the order in which they were started.
  std::vector<pid_t> others() const;
  // Waits until there are no others. Once the program itself has ended.
  testing::AssertionResult others_end();
  // The most memory it ever had (VmHWM, proc(5)).
  uint64_t peak_bytes() const;

 private:
  void drain();

  pid_t session_ = 0;
  pid_t pid_ = 0;  // 0: it has ended
  Fd ended_;       // a pidfd
  Fd out_;
  Fd err_;
  std::string output_;
  std::string errors_;
};

// One sentence of `peal` on stderr.
void expect_one_sentence(const std::string& text);

}  // namespace peal
