// SPDX-License-Identifier: BSD-3-Clause
// Tests duels whose servers are started by an agent. A duel is a comparison of servers under load. The agent plays the
// role of another machine, but a shell starts it on this machine. Many tests check the error when something goes wrong
// with the agent.
#include <load/remote/servers_there.h>

#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/duel/duel_json.h>
#include <load/duel/duel_judge.h>
#include <load/duel/duel_text.h>
#include <tests/support/duel/played_duel.h>
#include <tests/support/duel/told_agent.h>
#include <tests/support/files/temporary_folder.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

DuelOptions duel_of(std::vector<std::string> first, std::vector<std::string> second) {
  DuelOptions options = brief_duel({program("a", std::move(first)), program("b", std::move(second))});
  options.restarts = 2;
  return options;
}

std::expected<DuelRecord, std::string> played_there(const DuelOptions& options, const RemoteHost& host) {
  return play(options, {}, place_there(host));
}

std::string fault_there(const DuelOptions& options, const RemoteHost& host, const OnDuelProgress& on_progress = {}) {
  return fault_of(options, on_progress, place_there(host));
}

std::string fault_there(const RemoteHost& host) { return fault_there(duel_of(duelist(), duelist()), host); }

TEST(ServersThere, one_contender_at_a_time) {
  DuelOptions options = duel_of(duelist(), duelist());
  options.in_turn = true;
  const auto record = played_there(options, this_machine_as_box2());
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_EQ(record->slices.size(), 8u);
  for (const SliceRecord& slice : record->slices) EXPECT_TRUE(slice.server_cpu && slice.server_switches);
}

TEST(ServersThere, each_server_is_charged_for_its_own_work) {
  const auto record = played_there(duel_of(duelist({.burn = 200us}), duelist()), this_machine_as_box2());
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_EQ(record->restarts, 2u);
  ASSERT_EQ(record->slices.size(), 8u);
  for (const SliceRecord& slice : record->slices) {
    ASSERT_TRUE(slice.server_cpu.has_value());
    EXPECT_GT(slice.messages, 0u);
    const Duration burnt = static_cast<int64_t>(slice.messages) * 200us;
    EXPECT_TRUE(slice.contender == 1 || *slice.server_cpu >= burnt) << "a slice is charged for all its messages";
  }
  const DuelJudgement judgement = judge_duel(*record);
  EXPECT_GT(judgement.figures[0].server_cpu_ns.value_or(0), 200'000);
  EXPECT_LT(judgement.figures[1].server_cpu_ns.value_or(1e9), 200'000);
}

TEST(ServersThere, the_report_says_where_the_servers_were) {
  const auto record = played_there(duel_of(duelist(), duelist()), this_machine_as_box2());
  ASSERT_TRUE(record.has_value()) << record.error();
  ASSERT_TRUE(record->server_host.has_value());
  EXPECT_TRUE(record->server_host->is_here);
  EXPECT_EQ(record->server_host->address, "127.0.0.1");
  EXPECT_GT(record->server_host->elapsed, Duration::zero());
  const DuelJudgement judgement = judge_duel(*record);
  EXPECT_THAT(duel_text(*record, judgement), HasSubstr("servers on box2 (127.0.0.1, Linux "));
  EXPECT_THAT(duel_text(*record, judgement), HasSubstr("the two are one machine"));
  EXPECT_THAT(duel_json(*record, judgement), HasSubstr("\"server_host\":{\"name\":\"box2\",\"address\":\"127.0.0.1\""));
}

TEST(ServersThere, the_servers_are_gone_when_the_duel_is_over) {
  std::vector<SocketAddress> addresses;
  const auto record = played_there(duel_of(duelist(), duelist()), this_machine_as_box2());
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left: neither the shell nor the agent";
}

TEST(ServersThere, on_two_machines_servers_and_generator_get_all_their_cpus) {
  const std::unique_ptr<DuelLoop> loop = DuelLoop::make().value();
  const RemoteHost host =
      this_machine_as_box2("(" + agent_command() + R"() | sed -u 's/"boot":"[^"]*"/"boot":"other"/')");
  auto link = AgentLink::open(*loop, host);
  ASSERT_TRUE(link.has_value()) << link.error();
  PlaceThere place(std::move(*link), loopback_host(), {});
  DuelOptions options = duel_of(duelist(), duelist());
  const std::vector<int> cpus = usable_cpus();
  options.server_threads = options.load.threads = cpus.size();
  EXPECT_EQ(place.pins(options).server, cpus) << "all CPUs of the servers' machine";
  EXPECT_EQ(place.pins(options).client, cpus) << "all CPUs of this machine";
  options.server_threads = cpus.size() + 1;
  EXPECT_EQ(place.pins(options).server, std::vector<int>()) << "the servers' machine has fewer CPUs than threads";
  options.pin = false;
  EXPECT_EQ(place.pins(options).client, std::vector<int>());
}

TEST(ServersThere, a_host_that_cannot_be_reached) {
  RemoteHost host = this_machine_as_box2();
  host.shell = {"/bin/sh", "-c",
                "echo banner >&2; echo 'ssh: connect to host box2 port 22: Connection refused' >&2; exit 255"};
  EXPECT_EQ(
      fault_there(host),
      "box2: no agent could be started there: exit code 255 (ssh: connect to host box2 port 22: Connection refused)");
}

TEST(ServersThere, a_shell_that_does_not_exist) {
  RemoteHost host = this_machine_as_box2();
  host.shell = {"/nowhere/ssh"};
  EXPECT_EQ(fault_there(host), "box2: /nowhere/ssh cannot be run: No such file or directory");
}

TEST(ServersThere, an_agent_that_does_not_exist) {
  EXPECT_THAT(fault_there(this_machine_as_box2("/nowhere/peal load agent")),
              MatchesRegex("box2: no agent could be started there: exit code 127 \\(.*/nowhere/peal.*not found\\)"));
}

TEST(ServersThere, a_program_that_is_no_agent) {
  EXPECT_EQ(fault_there(this_machine_as_box2("echo what do you want; exit 3")),
            "box2: no agent could be started there: exit code 3 (what do you want)");
}

TEST(ServersThere, a_shell_that_waits_for_a_password) {
  RemoteHost host = this_machine_as_box2("read password");
  host.until_it_speaks = 50ms;
  EXPECT_EQ(fault_there(host), "box2: no agent has sent a greeting within 50.0 ms");
}

TEST(ServersThere, a_remote_shell_has_no_terminal) {
  EXPECT_THAT(fault_there(this_machine_as_box2("read password < /dev/stdin; echo got $password >&2")),
              StartsWith("box2: no agent"))
      << "stdin belongs to the duel";
}

TEST(ServersThere, an_agent_of_another_version) {
  EXPECT_EQ(fault_there(this_machine_as_box2("echo '{\"agent\": \"peal-agent/0\", \"machine\": {}}'; exec cat")),
            "box2: the agent there speaks peal-agent/0, but this program speaks peal-agent/1: install the same version "
            "there");
}

TEST(ServersThere, output_of_a_login_script_before_the_greeting_is_skipped) {
  const auto record =
      played_there(duel_of(duelist(), duelist()), this_machine_as_box2("echo Welcome; " + agent_command()));
  EXPECT_TRUE(record.has_value()) << record.error();
}

TEST(ServersThere, an_agent_that_answers_nonsense) {
  const std::string greeting = greeting_line(facts_of_this_machine());
  EXPECT_EQ(fault_there(this_machine_as_box2("echo '" + greeting + "'; read line; echo hello; exec cat")),
            "box2: 'hello' is no answer: it is not an object of JSON");
}

TEST(ServersThere, an_agent_that_answers_something_else) {
  const std::string greeting = greeting_line(facts_of_this_machine());
  EXPECT_THAT(fault_there(this_machine_as_box2("echo '" + greeting + "'; read line; echo '{\"ok\": {}}'; exec cat")),
              HasSubstr("is no answer: \"at\" is not a number"));
}

TEST(ServersThere, an_agent_that_gives_an_address_that_cannot_be_reached) {
  MachineFacts facts = facts_of_this_machine();
  facts.address = "somewhere";
  RemoteHost host = this_machine_as_box2("echo '" + greeting_line(facts) + "'; exec cat");
  host.address = {};
  EXPECT_THAT(fault_there(host), HasSubstr("no IP address: give one with --server-address"));
  facts.address = "127.0.0.1";
  facts.boot = "that of another machine";
  host.agent = "echo '" + greeting_line(facts) + "'; exec cat";
  EXPECT_THAT(fault_there(host), HasSubstr("servers that listen at 127.0.0.1 there cannot be reached from here"));
}

TEST(ServersThere, a_server_that_cannot_be_started_there) {
  EXPECT_EQ(fault_there(duel_of(duelist(), {"/nowhere/at/all", "{port}"}), this_machine_as_box2()),
            "b: /nowhere/at/all cannot be run: No such file or directory");
}

TEST(ServersThere, a_server_that_dies_there) {
  EXPECT_EQ(fault_there(duel_of(duelist(), duelist({.dies_after = 10})), this_machine_as_box2()),
            "b: the server ended by itself: exit code 7 (that was the last one)");
}

// The function fault_after() runs a duel. During the duel, it sends a signal to the agent. It returns the error of the
// duel. To know the agent's pid, it uses a command that first writes this pid to a file.
class AgentInTrouble : public testing::Test {
 protected:
  std::string fault_after(int signal) {
    const test::TemporaryFolder folder;
    const std::string file = folder.path("pid");
    RemoteHost host = this_machine_as_box2("echo $$ > '" + file + "'; " + agent_command());
    host.answer = 2s;
    DuelOptions options = duel_of(duelist(), duelist());
    options.restarts = 1;
    options.rounds = kMostDuelRounds;
    return fault_there(options, host, [&](const DuelProgress& progress) {
      const int agent = progress.rounds == 2 ? number_in(file) : 0;
      if (agent > 1) ::kill(agent, signal);
    });
  }

 private:
  static int number_in(const std::string& file) {
    int number = 0;
    std::ifstream(file) >> number;
    EXPECT_GT(number, 1);
    return number;
  }
};

TEST_F(AgentInTrouble, the_agent_is_killed) {
  EXPECT_EQ(fault_after(SIGKILL), "box2: the agent, or the way to it, is gone: signal 9");
}

TEST_F(AgentInTrouble, the_agent_gets_sigterm) {
  EXPECT_EQ(fault_after(SIGTERM), "box2: the agent, or the way to it, is gone: exit code 0");
}

TEST_F(AgentInTrouble, the_agent_stops_answering) {
  EXPECT_EQ(fault_after(SIGSTOP), "box2: the agent has not answered within 2.00 s");
}

TEST(ServersThere, servers_that_already_run_need_no_agent) {
  const Fd listener = duelist_listener();
  DuelOptions options = duel_of(duelist(), {});
  options.contenders[1].target = address_of(listener);
  options.contenders[1].target_text = address_of(listener).to_string();
  const int server = ::fork();
  if (server == 0) serve_as({}, listener);
  const auto record = played_there(options, this_machine_as_box2());
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  ASSERT_TRUE(record.has_value()) << record.error();
  for (const SliceRecord& slice : record->slices) EXPECT_EQ(slice.server_cpu.has_value(), slice.contender == 0);
}

}  // namespace
}  // namespace peal::load
