// SPDX-License-Identifier: BSD-3-Clause
// For tests: an agent as a program, which is the test's own asked for the one case that is an agent
// (answer_if_told()), and a shell that leads to this machine in ssh's place.
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

// Its command, as a shell reads it.
inline std::string agent_command(Duration silence = std::chrono::minutes(10)) {
  std::string command = "exec env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX -u GTEST_FILTER -u GTEST_OUTPUT '";
  command += std::filesystem::read_symlink("/proc/self/exe");
  return command + "' --gtest_filter=AgentProgram.answers_if_told --agent " + std::to_string(silence.count());
}

// Where this process was started with such words, it is an agent and does not return.
inline void answer_if_told() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  const auto told = std::ranges::find(words, "--agent");
  if (words.end() - told < 2) return;
  // What the test's runner has said goes before the greeting, where it is passed over, and not in the midst of answers.
  std::fflush(stdout);
  const std::expected<void, std::string> done = run_agent(STDIN_FILENO, STDOUT_FILENO, Duration(std::stoll(told[1])));
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  std::fflush(stderr);
  ::_exit(done ? 0 : 1);
}

// A host called box2, which is this machine; its servers listen at 127.0.0.1.
inline RemoteHost this_machine_as_box2(std::string agent = agent_command()) {
  return {.name = "box2",
          .shell = {"/bin/sh", "-c", "exec /bin/sh -c \"$2\"", "sh"},
          .agent = std::move(agent),
          .address = loopback_host()};
}

}  // namespace peal::load
