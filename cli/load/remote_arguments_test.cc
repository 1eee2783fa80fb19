// SPDX-License-Identifier: BSD-3-Clause
// Tests `peal load duel --server-host` and `peal load agent`: which options they refuse, and how they work together.
// The remote shell of these tests runs its commands on this machine. The tests in load/remote/ test the agent itself.
#include <cli/load/remote_arguments.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cli/load/duel_arguments.h>
#include <cli/words/shell_quoting.h>
#include <tests/support/load_call.h>
#include <tests/support/program.h>

namespace peal::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kServer = std::string(PEAL_BIN_DIR) + "/peal serve pingpong --engine epoll --listen {listen}";
// A remote shell that replaces ssh: it ignores the host and runs the command on this machine.
const std::string kLocalShell = "/bin/sh -c 'exec /bin/sh -c \"$2\"' sh";

Answer call_duel_there(std::vector<std::string> words) {
  words.insert(words.begin(), "duel");
  return call_load(std::move(words));
}

void expect_wrong_there(std::vector<std::string> words, std::string_view sentence) {
  expect_refused(call_duel_there(std::move(words)), kCalledWrongly, sentence);
}

std::vector<std::string> briefly_there(const std::string& server) {
  return {"--server-host", "box2",  "--run",      "a=" + server, "--slice",        "5ms",
          "--rounds",      "1",     "--restarts", "1",           "--budget",       "30s",
          "--engine",      "epoll", "--live",     "off",         "--remote-shell", kLocalShell};
}

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(RemoteArguments, wrong_options) {
  const std::string run = "a=./server {listen}";
  expect_wrong_there({"--run", run, "--server-address", "10.0.0.2"},
                     "--server-address is about the machine of --server-host: give --server-host too");
  expect_wrong_there({"--run", run, "--remote-shell", "ssh"}, "--remote-shell is about the machine");
  expect_wrong_there({"--run", run, "--agent", "peal load agent"}, "--agent is about the machine");
  expect_wrong_there(
      {"--server-host", "box2", "--run", run, "b=127.0.0.1:1", "--pid", "b=1"},
      "--pid names a process on this machine, but --server-host starts the servers on another: give only one");
  expect_wrong_there({"--server-host", "box2", "b=127.0.0.1:1"}, "--server-host starts servers: give --run");
  expect_wrong_there({"--server-host", "box2", "--run", run, "--server-address", "box2"},
                     "--server-address takes an IP address without a port, not 'box2'");
  expect_wrong_there({"--server-host", "box2", "--run", run, "--server-address", "10.0.0.2:80"},
                     "--server-address takes an IP address without a port");
  expect_wrong_there({"--server-host=-oProxyCommand=x", "--run", run}, "--server-host takes the name of a machine");
  expect_wrong_there({"--server-host", "box 2", "--run", run}, "--server-host takes the name of a machine");
  expect_wrong_there({"--server-host", "box2", "--run", run, "--remote-shell", "'"}, "--remote-shell takes a program");
  expect_wrong_there({"--server-host", "box2", "--run", run, "--remote-shell", " "}, "--remote-shell takes a program");
  for (const char* option : {"--server-host", "--server-address", "--remote-shell", "--agent"}) {
    expect_wrong_there({"--run", run, option, ""}, "it may not be empty");
  }
  expect_wrong_there({"--server-host", "box2", "--run", "a=./\xff {listen}"}, "is not UTF-8");
  expect_wrong_there({"--server-host", "box2", "--run", run, "--slice", "10m", "--budget", "9h"}, "at most 5 minutes");
}

TEST(RemoteArguments, the_defaults_are_ssh_and_the_agent_of_this_program) {
  DuelArguments words;
  words.server_host = "box2";
  words.runs = {"a=./server {listen}"};
  const auto host = read_remote_host(words, {});
  ASSERT_TRUE(host.has_value() && host->has_value());
  EXPECT_THAT((*host)->shell, ElementsAre("ssh", "-o", "BatchMode=yes"));
  EXPECT_EQ((*host)->agent, quoted_for_shell(std::filesystem::read_symlink("/proc/self/exe").string()) + " load agent");
  EXPECT_FALSE((*host)->address.is_set());
  EXPECT_FALSE(read_remote_host({}, {})->has_value()) << "no host is this machine";
}

TEST(RemoteArguments, a_duel_through_an_agent) {
  const std::string agent = quoted_for_shell(std::string(PEAL_BIN_DIR) + "/peal") + " load agent";
  const Answer answer = call_duel_there(with(briefly_there(kServer), {"--agent", agent, "--server-address", "127.0.0.1",
                                                                      "--run", "b=" + kServer, "--json", "-"}));
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_THAT(answer.error, HasSubstr("servers on box2 (127.0.0.1, Linux"));
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["server_host"]["name"], "box2");
  EXPECT_GT(json["contenders"][1]["server_cpu_ns"], 0);
}

TEST(RemoteArguments, a_host_that_is_not_reached_is_a_failure) {
  std::vector<std::string> words = briefly_there(kServer);
  words.back() = "/bin/sh -c 'echo Permission denied, please try again >&2; exit 255'";
  const Answer answer = call_duel_there(words);
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_EQ(answer.error,
            "peal: box2: no agent could be started there: exit code 255 (Permission denied, please try again)\n");
}

TEST(RemoteArguments, an_agent_is_asked_on_stdin) {
  Program agent("/bin/sh", {"-c", "printf '{\"do\": \"clocks\"}\\nnonsense\\n' | '" + std::string(PEAL_BIN_DIR) +
                                      "/peal' load agent"});
  EXPECT_EQ(agent.exit_code(), 0) << agent.errors();
  EXPECT_THAT(agent.output(), testing::StartsWith("{\"agent\":\"peal-agent/1\""));
  EXPECT_THAT(agent.output(), HasSubstr("\"busy\":"));
  EXPECT_THAT(agent.output(), HasSubstr("{\"error\":\"'nonsense' is not an object of JSON\"}"));
}

TEST(RemoteArguments, an_agent_with_a_wrong_option) {
  const Answer answer = call_load({"agent", "--silence", "soon"});
  EXPECT_EQ(answer.exit_code, kCalledWrongly);
  EXPECT_EQ(answer.error, "peal: --silence takes a time such as 10m, not 'soon'\n");
}

}  // namespace
}  // namespace peal::cli
