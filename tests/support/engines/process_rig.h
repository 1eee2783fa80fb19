// SPDX-License-Identifier: BSD-3-Clause
// For tests of subprocesses: real programs on a loop that runs one task. Each leaves no child and no fd.
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
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child was left behind";
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
  // The pid that a script printed as a line.
  static Task<pid_t> read_pid(Stream& stream) {
    Result<Buffer> line = co_await stream.read_until("\n");
    co_return static_cast<pid_t>(std::stoi(text_of(line)));
  }
  // Once the process has that number no more, or is a zombie of somebody else's.
  static Task<> until_gone(pid_t pid) {
    while (::kill(pid, 0) == 0 && !is_in_state(pid, 'Z')) co_await sleep(std::chrono::milliseconds(1));
  }
  // As proc(5) has them: 'T' is stopped, 'Z' a zombie.
  static bool is_in_state(pid_t pid, char state) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    std::getline(file, stat);
    return stat.find(std::string(") ") + state + ' ') != std::string::npos;
  }
};

}  // namespace peal::test
