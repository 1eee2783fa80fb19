// SPDX-License-Identifier: BSD-3-Clause
// ProcessTest: a fixture for tests of subprocesses. A test is one coroutine on a loop, and starts real programs. The
// test fails if it leaves a child process or an open fd behind.
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <string>
#include <string_view>

#include <peal/process/subprocess.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal::test {

class ProcessTest : public TaskTest {
 protected:
  void TearDown() override {
    TaskTest::TearDown();
    if (IsSkipped()) return;
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "the test left a child process behind";
  }
  Subprocess start(const Command& command, const SubprocessOptions& options = {}) {
    return Subprocess::start(loop(), command, options).value();
  }
  static Command shell(std::string_view script) { return {"sh", "-c", script}; }
  static Command cat() { return {"cat"}; }
  static Command sleeper() { return {"sleep", "1000"}; }
  static std::string text_of(Result<Buffer>& read) {
    return read ? std::string(read->view()) : "error: " + read.error().message();
  }
  static Task<std::string> read_all(Stream& stream) {
    std::string all;
    for (;;) {
      Result<Buffer> more = co_await stream.read();
      if (!more || more->empty()) co_return all;
      all += more->view();
    }
  }
  // Reads a line in which a script has printed a pid. Returns the pid.
  static Task<pid_t> read_pid(Stream& stream) {
    Result<Buffer> line = co_await stream.read_until("\n");
    co_return static_cast<pid_t>(std::stoi(text_of(line)));
  }
  // Waits until the process has ended. A zombie counts as ended: only its parent can remove it, and this process is not
  // its parent.
  static Task<> until_gone(pid_t pid) {
    while (::kill(pid, 0) == 0 && !is_in_state(pid, 'Z')) co_await sleep(std::chrono::milliseconds(1));
  }
  // True if the process is in `state`. The letters are those of proc(5): 'T' means stopped, 'Z' means zombie.
  static bool is_in_state(pid_t pid, char state) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    std::getline(file, stat);
    return stat.find(std::string(") ") + state + ' ') != std::string::npos;
  }
};

}  // namespace peal::test
