// SPDX-License-Identifier: BSD-3-Clause
// Checks what other tools say about peal. gdb finds the names of threads in a core file. clang refuses code that uses
// data guarded by a mutex without locking the mutex.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/thread/thread.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/sanitized.h>

namespace peal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Outcome {
  int exit_code = -1;
  std::string output;  // stdout and stderr together
};

Outcome run(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "re");
  EXPECT_NE(pipe, nullptr);
  if (pipe == nullptr) return outcome;
  char part[4096];
  while (const std::size_t bytes = std::fread(part, 1, sizeof(part), pipe)) outcome.output.append(part, bytes);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

bool installed(const std::string& tool) { return run("command -v " + tool).exit_code == 0; }

// The program that the debugger runs. It has two named threads: one aborts the process while the other waits.
[[noreturn]] void die_with_named_threads() {
  std::latch waiting(1);
  std::latch never(1);
  auto waiter = Thread::start("waits-for-ever", [&](const std::stop_token&) {
    waiting.count_down();
    never.wait();
  });
  waiting.wait();
  auto aborter = Thread::start("aborts-7", [](const std::stop_token&) { std::abort(); });
  never.wait();
  std::_Exit(0);
}

TEST(ThreadNames, are_in_a_core_dump) {
  constexpr const char* kChild = "PEAL_DIE_WITH_NAMED_THREADS";
  if (std::getenv(kChild) != nullptr) die_with_named_threads();
  if (kSanitized) GTEST_SKIP() << "the core file would contain terabytes of the sanitizer's shadow memory";
  if (!installed("gdb")) GTEST_SKIP() << "gdb is not installed";
  const test::TemporaryFolder scratch;
  const std::string core = scratch.path("core");
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const Outcome death = run("gdb -nx -batch -ex 'set startup-with-shell off' -ex 'set environment " +
                            std::string(kChild) + " 1' -ex run -ex 'generate-core-file " + core + "' --args " +
                            program + " --gtest_filter=ThreadNames.are_in_a_core_dump");
  for (const char* forbidden : {"Could not trace the inferior process", "ptrace: Operation not permitted"}) {
    if (death.output.find(forbidden) != std::string::npos) GTEST_SKIP() << "this machine forbids ptrace: " << forbidden;
  }
  ASSERT_THAT(death.output, AllOf(HasSubstr("SIGABRT"), HasSubstr("Saved corefile")));
  const Outcome seen = run("gdb -nx -batch -ex \"thread apply all print (char[16])'peal::detail::thread_name'\" " +
                           program + " " + core);
  EXPECT_THAT(seen.output, AllOf(HasSubstr("= \"aborts-7"), HasSubstr("= \"waits-for-ever")));
}

constexpr const char* kLocked = R"(
#include <peal/base/mutex.h>
#include <tests/support/files/temporary_folder.h>
struct Account {
  int balance() { peal::MutexLock lock(mutex); return euros; }
  void add(int more) PEAL_REQUIRES(mutex) { euros += more; }
  peal::Mutex mutex;
  int euros PEAL_GUARDED_BY(mutex) = 0;
};
void pay(Account& account) { peal::MutexLock lock(account.mutex); account.add(1); }
)";
constexpr const char* kUnlocked = R"(
int peek(Account& account) { return account.euros; }
void steal(Account& account) { account.add(-1); }
void forget(Account& account) { account.mutex.lock(); }
void wait(Account& account, peal::Condition& condition) { condition.wait(account.mutex); }
)";

Outcome compile_with_clang(const std::string& source) {
  const test::TemporaryFolder scratch;
  const std::string file = scratch.path("source.cc");
  std::ofstream(file) << source;
  return run("clang++-19 -std=c++23 -fsyntax-only -Wthread-safety -Werror -I " PEAL_SOURCE_DIR " " + file);
}

TEST(LockAnnotations, clang_refuses_what_touches_the_guarded_without_its_mutex) {
  if (!installed("clang++-19")) GTEST_SKIP() << "clang++-19 is not installed";
  const Outcome right = compile_with_clang(kLocked);
  EXPECT_EQ(right.exit_code, 0) << right.output;
  const Outcome wrong = compile_with_clang(std::string(kLocked) + kUnlocked);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("reading variable 'euros' requires holding mutex 'account.mutex'"),
                                  HasSubstr("calling function 'add' requires holding mutex 'account.mutex'"),
                                  HasSubstr("mutex 'account.mutex' is still held at the end of function"),
                                  HasSubstr("calling function 'wait' requires holding mutex 'account.mutex'")));
}

}  // namespace
}  // namespace peal
