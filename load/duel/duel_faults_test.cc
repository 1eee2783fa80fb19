// SPDX-License-Identifier: BSD-3-Clause
// Tests the errors of duels with a faulty server. Also tests that a duel that ends early leaves no process of its
// servers behind.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/duel/duel_judge.h>
#include <load/duel/duel_run.h>
#include <load/forked_server.h>
#include <load/process_files.h>
#include <load/scripted_server.h>
#include <tests/support/duel/duelist.h>
#include <tests/support/duel/played_duel.h>
#include <tests/support/files/temporary_folder.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::HasSubstr;
using testing::StartsWith;

// Makes a duel in which "a" echoes and "b" is the faulty contender.
DuelOptions duel_with(DuelContender faulty) {
  faulty.name = "b";
  return brief_duel({program("a", duelist()), std::move(faulty)});
}

DuelOptions duel_with(std::vector<std::string> command) { return duel_with(program("b", std::move(command))); }

DuelOptions duel_with(const ScriptedServer& server) {
  return duel_with(
      {.name = {}, .command = {}, .target_text = server.address().to_string(), .target = server.address(), .pid = {}});
}

TEST(DuelFaults, a_program_that_cannot_be_run) {
  EXPECT_EQ(fault_of(duel_with({"/nowhere/at/all", "{listen}"})),
            "b: /nowhere/at/all cannot be run: No such file or directory");
}

TEST(DuelFaults, a_program_that_ends_before_it_listens) {
  EXPECT_EQ(fault_of(duel_with({"/bin/sh", "-c", "echo why: $0 >&2; exit 3", "{threads}", "{port}"})),
            "b: the server ended by itself: exit code 3 (why: 1)");
  EXPECT_EQ(fault_of(duel_with({"/bin/sh", "-c", "kill -9 $$", "{port}"})), "b: the server ended by itself: signal 9");
}

TEST(DuelFaults, a_program_that_never_listens) {
  DuelOptions options = duel_with({"/bin/sh", "-c", "exec sleep 60", "{port}"});
  std::swap(options.contenders[0], options.contenders[1]);
  options.patience.start = 50ms;
  EXPECT_EQ(fault_of(options), "b: it does not listen at its address after 50.0 ms");
}

TEST(DuelFaults, a_server_that_dies_half_way) {
  EXPECT_EQ(fault_of(duel_with(duelist({.dies_after = 10}))),
            "b: the server ended by itself: exit code 7 (that was the last one)");
}

TEST(DuelFaults, a_server_that_closes_every_connection) {
  for (const Manner manner : {Manner::kClose, Manner::kReset}) {
    const ScriptedServer server(manner);
    DuelOptions options = duel_with(server);
    options.rounds = kMostDuelRounds;
    EXPECT_THAT(fault_of(options), StartsWith("b: every connection is lost: "));
  }
}

TEST(DuelFaults, a_server_that_does_not_answer_a_message) {
  std::string fault = "a: ";
  // On a busy machine, "a" may answer too late and be blamed first. Then the duel is repeated.
  for (int tries = 0; tries < 20 && fault.starts_with("a: "); ++tries) {
    const ScriptedServer server(Manner::kSilent, 640);
    DuelOptions options = duel_with(server);
    options.patience.answer = 50ms;
    fault = fault_of(options);
  }
  EXPECT_EQ(fault, "b: not every message was answered within 50.0 ms after its slice");
}

TEST(DuelFaults, a_server_that_no_longer_listens) {
  DuelOptions options = [] {
    const ScriptedServer gone;
    return duel_with(gone);
  }();
  EXPECT_EQ(fault_of(options), "b: not every connection could be opened: Connection refused");
}

TEST(DuelFaults, wrong_bytes_from_the_beginning) {
  const ScriptedServer server(Manner::kFlipByte);
  DuelOptions options = duel_with(server);
  options.rounds = kMostDuelRounds;
  EXPECT_EQ(fault_of(options), "b: every connection is lost: byte 63 of a 64-byte message came back changed");
}

TEST(DuelFaults, occasional_wrong_bytes_fail_a_gate) {
  const ScriptedServer server(Manner::kFlipByte, 640);
  const std::expected<DuelRecord, std::string> record = play(duel_with(server));
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_TRUE(record->sides[0].failures.empty());
  EXPECT_TRUE(record->sides[1].failures.kinds.contains("wrong_bytes"));
  const DuelJudgement judgement = judge_duel(*record);
  ASSERT_EQ(judgement.gates.size(), 1U);
  EXPECT_TRUE(judgement.gates[0].invalid);
  EXPECT_THAT(judgement.gates[0].sentence, HasSubstr("(wrong_bytes): byte 63 of a 64-byte message came back changed"));
}

TEST(DuelFaults, an_orphan_of_a_server_is_reported_and_ended) {
  std::vector<std::string> command{"/bin/sh", "-c", "(setsid sleep 600 >/dev/null 2>&1 &); exec \"$@\"", "sh"};
  std::ranges::copy(duelist(), std::back_inserter(command));
  const std::vector<int> before = ChildFinder().children_of(::getpid());
  const auto record = play(duel_with(command));
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_TRUE(record->sides[1].has_orphans);
  const DuelJudgement judgement = judge_duel(*record);
  ASSERT_FALSE(judgement.gates.empty());
  EXPECT_TRUE(judgement.gates[0].invalid);
  EXPECT_THAT(judgement.gates[0].sentence, HasSubstr("whose parents have ended"));
  EXPECT_EQ(ChildFinder().children_of(::getpid()), before);
}

// Before the duel, a child of the test starts another process. The child ends during the duel, so the other process
// becomes a child of the test. Expected: the duel does not kill that process, because no server has started it.
TEST(DuelFaults, an_orphan_that_no_server_has_started_is_left_alone) {
  PipeSignal told;
  PipeSignal may_end;
  const int parent = fork_child([&] {
    const int child = ::fork();
    if (child == 0) {
      while (true) ::pause();
    }
    told.tell(child);
    may_end.await();
  });
  const auto stranger = static_cast<int>(told.await());
  const auto record = play(duel_with(duelist()), [&](const DuelProgress& progress) {
    if (progress.rounds > 0) return;
    may_end.tell();
    ::waitpid(parent, nullptr, 0);
  });
  ASSERT_TRUE(record.has_value()) << record.error();
  for (const DuelSideRecord& side : record->sides) EXPECT_FALSE(side.has_orphans);
  const Result<ProcessStat> stat = read_process_stat(stranger);
  EXPECT_TRUE(stat.has_value() && stat->alive);
  EXPECT_EQ(::kill(stranger, SIGKILL), 0);
  EXPECT_EQ(::waitpid(stranger, nullptr, 0), stranger);
}

TEST(DuelFaults, a_pid_of_a_process_that_is_no_server) {
  const ScriptedServer server;
  DuelOptions options = duel_with(server);
  options.contenders[1].pid = ::getpid();
  EXPECT_EQ(fault_of(options), fmt::format("b: process {} is an ancestor of this duel, not a server", ::getpid()));
  options.contenders[1].pid = ::getppid();
  EXPECT_THAT(fault_of(options), HasSubstr("is an ancestor of this duel"));
  const int ended = fork_child([] {});
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0);
  options.contenders[1].pid = ended;
  EXPECT_EQ(fault_of(options), fmt::format("b: process {} is a zombie, not a server", ended));
  ::waitpid(ended, nullptr, 0);
}

TEST(DuelFaults, with_a_server_that_already_runs_no_cpu_is_pinned) {
  const ScriptedServer server;
  const auto record = play(duel_with(server));
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_TRUE(record->server_cpus.empty());
  EXPECT_TRUE(record->client_cpus.empty());
}

TEST(DuelFaults, a_server_that_prints_more_than_a_pipe_holds) {
  const std::expected<DuelRecord, std::string> record = play(duel_with(duelist({.chatters = true})));
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_TRUE(record->sides[1].failures.empty());
  EXPECT_GT(record->sides[1].counts.messages, 0U);
}

TEST(DuelFaults, a_server_that_closes_its_stdout_and_stderr) {
  std::vector<std::string> command{"/bin/sh", "-c", "exec >&- 2>&-; exec \"$@\"", "sh"};
  for (std::string& word : duelist()) command.push_back(word);
  const std::expected<DuelRecord, std::string> record = play(duel_with(command));
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_GT(record->sides[1].counts.messages, 0U);
}

// Runs an endless duel in a process of its own. When that process ends, servers that still run become the test's
// children.
class EndlessDuel {
 public:
  explicit EndlessDuel(const std::vector<std::string>& command)
      : duel_((::prctl(PR_SET_CHILD_SUBREAPER, 1), [this, &command] { play_it(command); })) {}
  ~EndlessDuel() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  // Sends the signal to the duel when the first restart of the duel is over.
  void signal(int number) {
    playing_.await();
    ::kill(duel_.pid(), number);
  }
  void finish() { duel_.finish(); }
  int64_t outcome() { return outcome_.await(); }

 private:
  void play_it(const std::vector<std::string>& command) {
    DuelOptions options = duel_with(command);
    options.restarts = kMostRestarts;
    options.budget = std::chrono::hours(1);
    bool told = false;
    const auto record = play(options, [&](const DuelProgress& progress) {
      if (progress.record.restarts == 1 && !std::exchange(told, true)) playing_.tell();
    });
    outcome_.tell(record && record->interrupted);
  }

  PipeSignal playing_;
  PipeSignal outcome_;
  ForkedServer duel_;
};

TEST(DuelEnds, an_interrupted_duel_leaves_no_server_behind) {
  for (const int number : {SIGINT, SIGTERM}) {
    EndlessDuel duel(duelist({.work = DuelistWork::kChild}));
    duel.signal(number);
    EXPECT_EQ(duel.outcome(), 1);
    duel.finish();
    EXPECT_EQ(::waitpid(-1, nullptr, 0), -1) << "a process that the duel left behind would be the test's child by now";
    EXPECT_EQ(errno, ECHILD);
  }
}

TEST(DuelEnds, an_interrupted_duel_starts_no_more_servers) {
  const test::TemporaryFolder folder;
  const PlaceMaker interrupted = [](DuelLoop& loop, const DuelOptions& options) {
    ::raise(SIGINT);
    return place_here(loop, options);
  };
  EXPECT_EQ(fault_of(duel_with({"/bin/mkdir", folder.path("started"), "{listen}"}), {}, interrupted),
            "interrupted before the first restart was over");
  EXPECT_FALSE(std::filesystem::exists(folder.path("started")));
}

TEST(DuelEnds, a_killed_duel_takes_its_servers_along) {
  // The second server is the child of a script. When the duel is killed, the kernel signals the script, but not that
  // server.
  std::vector<std::string> script{"/bin/sh", "-c", "\"$@\" & wait", "sh"};
  for (std::string& word : duelist()) script.push_back(word);
  EndlessDuel duel(script);
  duel.signal(SIGKILL);
  duel.finish();
  size_t ended = 0;
  // Waits for all processes that became the test's children. SIGTERM has ended the servers and the script. The guards
  // (GroupGuard) end by themselves and exit with 0.
  for (int status = 0; ::waitpid(-1, &status, 0) > 0; ended += status != 0 ? 1 : 0) {
    EXPECT_TRUE(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)) << status;
  }
  EXPECT_EQ(ended, 3U) << "two servers and a script";
}

}  // namespace
}  // namespace peal::load
