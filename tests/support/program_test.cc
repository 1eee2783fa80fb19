// SPDX-License-Identifier: BSD-3-Clause
// Tests of Program: it shows how a program has ended, what it has printed, and which processes it has left behind.
#include <tests/support/program.h>

#include <csignal>

namespace peal {
namespace {

Program shell(const std::string& script) { return Program("/bin/sh", {"-c", script}); }

TEST(ProgramTest, exit_code_output_and_what_a_signal_did) {
  Program speaks = shell("echo one; echo two; echo trouble >&2; exit 3");
  EXPECT_EQ(speaks.line(), "one");
  EXPECT_EQ(speaks.exit_code(), 3);
  EXPECT_EQ(speaks.output(), "two\n");
  EXPECT_EQ(speaks.errors(), "trouble\n");
  Program dies = shell("kill -9 $$");
  EXPECT_EQ(dies.exit_code(), -SIGKILL);
  Program waits = shell("echo ready; exec sleep 1000");
  EXPECT_EQ(waits.line(), "ready");
  waits.signal(SIGTERM);
  EXPECT_EQ(waits.exit_code(), -SIGTERM);
}

TEST(ProgramTest, more_output_than_pipes_hold_on_both_of_them) {
  Program speaks = shell("head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2");
  EXPECT_EQ(speaks.exit_code(), 0);
  EXPECT_EQ(speaks.output().size(), 300'000u);
  EXPECT_EQ(speaks.errors().size(), 600'000u);
}

TEST(ProgramTest, process_left_behind_is_seen_and_ends_with_the_test) {
  pid_t left = 0;
  {
    Program leaves = shell("sleep 1000 & echo left $!");
    left = std::stoi(leaves.line().substr(5));
    EXPECT_EQ(leaves.exit_code(), 0) << "the process left behind still holds the pipes";
    EXPECT_EQ(leaves.others(), std::vector<pid_t>{left});
  }
  EXPECT_EQ(::kill(left, 0), -1);
}

TEST(ProgramTest, zombie_left_behind_is_seen_until_it_was_waited_for) {
  // The shell replaces itself by `yes`, which never waits for the shell's child. When `yes` has printed its first line,
  // the shell is gone.
  Program leaves = shell("sleep 1000 & echo $!; exec yes became");
  const pid_t child = std::stoi(leaves.line());
  ASSERT_EQ(leaves.line(), "became");
  EXPECT_EQ(leaves.others(), std::vector<pid_t>{child});
  ::kill(child, SIGKILL);
  EXPECT_EQ(leaves.others(), std::vector<pid_t>{child}) << "its parent has not waited for it";
  leaves.signal(SIGKILL);
  EXPECT_EQ(leaves.exit_code(), -SIGKILL);
  EXPECT_EQ(leaves.others(), std::vector<pid_t>{child}) << "the zombie must become the test's child";
  EXPECT_TRUE(leaves.others_end());
  EXPECT_EQ(leaves.others(), std::vector<pid_t>{});
}

}  // namespace
}  // namespace peal
