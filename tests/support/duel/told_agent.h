// SPDX-License-Identifier: BSD-3-Clause
// Parts of tests of remote agents. An agent is a program on another machine that starts servers there.
// - agent_command() returns a command that starts the test's own program with a filter for one test case. That test
//   case calls answer_if_told(), which acts as an agent.
// - this_machine_as_box2() returns a remote host that is really this machine. A plain shell takes the place of ssh.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <load/remote/agent.h>
#include <load/remote/agent_link.h>
#include <tests/support/duel/duelist.h>

namespace peal::load {

// Returns the command that starts the agent, as one string for a shell. The agent ends if no request comes for the time
// `silence`.
inline std::string agent_command(Duration silence = std::chrono::minutes(10)) {
  std::string command = "exec env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX -u GTEST_FILTER -u GTEST_OUTPUT '";
  command += std::filesystem::read_symlink("/proc/self/exe");
  return command + "' --gtest_filter=AgentProgram.answers_if_told --agent " + std::to_string(silence.count());
}

// If the command of agent_command() has started this process, acts as the agent and never returns. Otherwise does
// nothing.
inline void answer_if_told() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  const auto told = std::ranges::find(words, "--agent");
  if (words.end() - told < 2) return;
  // Flushes the test runner's text that is still in the buffer of stdout, so that this text comes before the agent's
  // greeting. The duel ignores lines before the greeting, but takes the first line after each request for the agent's
  // answer.
  std::fflush(stdout);
  const std::expected<void, std::string> done = run_agent(STDIN_FILENO, STDOUT_FILENO, Duration(std::stoll(told[1])));
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  std::fflush(stderr);
  ::_exit(done ? 0 : 1);
}

// Returns a remote host with the name box2 that is really this machine. Servers on it listen at 127.0.0.1.
inline RemoteHost this_machine_as_box2(std::string agent = agent_command()) {
  return {.name = "box2",
          .shell = {"/bin/sh", "-c", "exec /bin/sh -c \"$2\"", "sh"},
          .agent = std::move(agent),
          .address = loopback_host()};
}

}  // namespace peal::load
