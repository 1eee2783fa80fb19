// SPDX-License-Identifier: BSD-3-Clause
// The servers are shell scripts, or the test's own program (tests/support/duel/duelist.h).
#include <load/duel/server_process.h>

#include <fcntl.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/duel/duel_loop.h>
#include <tests/support/duel/duelist.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""s;

constexpr Duration kLong = std::chrono::seconds(30);

bool ignores_sigterm(int pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigIgn:")) return (std::stoull(line.substr(8), nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
  }
  return false;
}

class ServerProcessTest : public testing::Test {
 protected:
  std::unique_ptr<ServerProcess> start(const std::vector<std::string>& words, const std::vector<int>& cpus = {}) {
    auto server = ServerProcess::start(loop_->loop(), words, 3, cpus);
    EXPECT_TRUE(server.has_value()) << server.error();
    return std::move(*server);
  }
  std::unique_ptr<ServerProcess> script(const std::string& text) {
    return start({"/bin/sh", "-c", text, "sh", "{port}", "{listen}", "{host}", "{threads}", "<{listen}+{listen}>"});
  }
  // Waits for the end of a server, and returns how it ended.
  std::string end_of(ServerProcess& server) {
    EXPECT_TRUE(loop_->until_seen(loop_->now() + kLong, [&] { return server.ended().has_value(); }));
    return server.ended().value_or("");
  }
  void expect_listens(ServerProcess& server) {
    EXPECT_TRUE(loop_->until_seen(loop_->now() + kLong, [&] { return server.listens(loop_->now()); }));
  }
  void expect_gone(ServerProcess& server) {
    EXPECT_TRUE(loop_->until_seen(loop_->now() + kLong, [&] { return server.is_gone(); }));
  }

  std::unique_ptr<DuelLoop> loop_ = DuelLoop::make().value();
};

TEST_F(ServerProcessTest, the_words_of_a_command_are_filled_in) {
  const auto server = script("echo \"$@\" >&2; exit 1");
  const std::string address = server->address().to_string();
  const std::string port = address.substr(address.find(':') + 1);
  EXPECT_EQ(end_of(*server),
            fmt::format("exit code 1 ({0} 127.0.0.1:{0} 127.0.0.1 3 <127.0.0.1:{0}+127.0.0.1:{0}>)", port));
  EXPECT_GE(std::stoi(port), 20'000) << "the port lies below the kernel's ephemeral range";
  EXPECT_LT(std::stoi(port), 32'000);
}

TEST_F(ServerProcessTest, a_server_gets_another_address_of_this_machine) {
  for (const auto& [host, listen] : {std::pair("127.0.0.2", "127.0.0.2"), std::pair("::1", "[::1]")}) {
    const SocketAddress address = SocketAddress::parse(fmt::format("{}:0", listen)).value();
    const auto server = ServerProcess::start(
        loop_->loop(), {"/bin/sh", "-c", "echo \"$@\" >&2; exit 1", "sh", "{listen}", "{host}", "{port}"}, 1, {},
        address);
    if (!server.has_value() && address.family() == AF_INET6) GTEST_SKIP() << server.error();
    ASSERT_TRUE(server.has_value()) << server.error();
    const uint16_t port = (*server)->address().port();
    EXPECT_EQ(host_of((*server)->address()), host);
    EXPECT_EQ(end_of(**server), fmt::format("exit code 1 ({}:{} {} {})", listen, port, host, port));
  }
}

TEST_F(ServerProcessTest, an_address_of_another_machine) {
  const auto server = ServerProcess::start(loop_->loop(), {"/bin/sh", "-c", "exit 0", "{port}"}, 1, {},
                                           SocketAddress::parse("192.0.2.1:0").value());
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error(), "a server cannot listen at 192.0.2.1 on this machine: Cannot assign requested address");
}

TEST_F(ServerProcessTest, two_servers_never_get_the_same_port) {
  const auto first = script("exec sleep 60");
  const auto second = script("exec sleep 60");
  EXPECT_NE(first->address(), second->address()) << "though neither listens";
}

TEST_F(ServerProcessTest, a_port_that_is_in_use_is_skipped) {
  const auto before = script("exit 0");
  std::vector<Fd> listeners;
  const std::string text = before->address().to_string();
  const int last = std::stoi(text.substr(text.find(':') + 1));
  for (int port = last + 1; port < std::min(last + 4, 32'000); ++port) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress address = SocketAddress::parse(fmt::format("127.0.0.1:{}", port)).value();
    if (::bind(socket.get(), address.data(), address.size()) == 0 && ::listen(socket.get(), 1) == 0) {
      listeners.push_back(std::move(socket));
    }
  }
  const auto server = script("exit 0");
  for (const Fd& listener : listeners) EXPECT_NE(server->address(), address_of(listener));
}

// Two duels that ran at the same time found the same port free, so the server that was started later could not listen.
// Now a harness claims a port by a unix socket. Expected: a claimed port is not given to a server.
TEST_F(ServerProcessTest, a_port_that_another_harness_has_claimed_is_skipped) {
  const auto before = script("exit 0");
  std::vector<Fd> claims;
  for (uint16_t port = before->address().port() + 1; port < std::min(before->address().port() + 4, 32'000); ++port) {
    Fd claim(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress name = SocketAddress::parse(fmt::format("unix:@peal-versus-port-{}", port)).value();
    if (::bind(claim.get(), name.data(), name.size()) == 0) claims.push_back(std::move(claim));
  }
  const auto server = script("exit 0");
  EXPECT_TRUE(server->address().port() < before->address().port() ||
              server->address().port() > before->address().port() + 3);
}

TEST_F(ServerProcessTest, a_port_stays_claimed_until_its_server_is_gone) {
  auto server = script("exit 0");
  const SocketAddress name =
      SocketAddress::parse(fmt::format("unix:@peal-versus-port-{}", server->address().port())).value();
  const auto is_free = [&name] {
    const Fd claim(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::bind(claim.get(), name.data(), name.size()) == 0;
  };
  EXPECT_FALSE(is_free());
  server.reset();
  EXPECT_TRUE(is_free());
}

TEST_F(ServerProcessTest, a_program_that_does_not_exist) {
  const auto server = ServerProcess::start(loop_->loop(), {"/nowhere/at/all", "{port}"}, 1, {});
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error(), "/nowhere/at/all cannot be run: No such file or directory");
}

TEST_F(ServerProcessTest, a_program_that_may_not_be_run) {
  const auto server = ServerProcess::start(loop_->loop(), {"/etc/passwd", "{port}"}, 1, {});
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error(), "/etc/passwd cannot be run: Permission denied");
}

TEST_F(ServerProcessTest, a_server_listens_once_it_accepts) {
  const auto silent = script("exec sleep 60");
  EXPECT_FALSE(silent->listens(loop_->now()));
  const auto server = start(duelist());
  expect_listens(*server);
  EXPECT_FALSE(server->ended());
  EXPECT_FALSE(silent->listens(loop_->now()));
}

TEST_F(ServerProcessTest, a_server_that_accepts_but_prints_nothing_gets_a_moment) {
  std::vector<std::string> words{"/bin/sh", "-c", "exec \"$@\" > /dev/null", "sh"};
  for (const std::string& word : duelist()) words.push_back(word);
  const auto server = start(words);
  const TimePoint long_ago{};
  // The server accepts connections, but prints nothing. Expected: listens() returns false while the clock that it is
  // given stands still. It returns true when that clock is 1 s later.
  EXPECT_FALSE(server->listens(long_ago));
  EXPECT_TRUE(loop_->until_seen(loop_->now() + kLong, [&] {
    EXPECT_FALSE(server->listens(long_ago));
    return server->listens(long_ago + 1s);
  }));
}

TEST_F(ServerProcessTest, how_it_ended) {
  EXPECT_EQ(end_of(*script("exit 0")), "exit code 0");
  EXPECT_EQ(end_of(*script("echo first >&2; echo second >&2; exit 3")), "exit code 3 (first)");
  EXPECT_EQ(end_of(*script("kill -KILL $$")), "signal 9");
  EXPECT_EQ(end_of(*script("echo said on stdout; exit 4")), "exit code 4") << "only stderr is quoted";
}

TEST_F(ServerProcessTest, stdin_is_dev_null) {
  EXPECT_EQ(end_of(*script("cat; readlink /proc/self/fd/0 >&2; exit 1")), "exit code 1 (/dev/null)");
}

TEST_F(ServerProcessTest, a_server_inherits_no_descriptor) {
  // The server also inherits the descriptors that this process itself got from its parent without FD_CLOEXEC.
  std::set<std::string> expected{"0", "1", "2"};
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string number = entry.path().filename();
    const int flags = ::fcntl(std::stoi(number), F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) expected.insert(number);
  }
  EXPECT_EQ(end_of(*script("exec >&2; LC_ALL=C ls -m -w 0 /proc/$$/fd; exit 1")),
            fmt::format("exit code 1 ({})", fmt::join(expected, ", ")));
}

TEST_F(ServerProcessTest, a_server_that_prints_much_is_never_blocked) {
  EXPECT_EQ(end_of(*script("yes complaint | head -c 300000 >&2; yes | head -c 300000; exit 5")),
            "exit code 5 (complaint)");
}

TEST_F(ServerProcessTest, signals_have_their_default_actions_and_none_is_blocked) {
  std::vector<std::string> words{"/bin/sh", "-c", "grep -h Sig[BI] /proc/self/status | tr '\\n' ' ' >&2; exit 1",
                                 "{port}"};
  // Signals 32 and 33 belong to the C library and cannot be set. If the parent ignored them, they stay ignored.
  EXPECT_THAT(end_of(*start(words)),
              testing::MatchesRegex("exit code 1 .SigBlk:\t0000000000000000 SigIgn:\t0000000[01][08]0000000 ."));
}

TEST_F(ServerProcessTest, sigterm_ends_the_whole_group) {
  const OrphansHere orphans;
  const auto server = script("sleep 60 & sleep 60 & wait");
  server->ask_to_end();
  expect_gone(*server);
  EXPECT_EQ(server->ended(), "signal 15");
  EXPECT_EQ(::waitpid(-server->pid(), nullptr, WNOHANG), -1) << "no zombie is left";
}

TEST_F(ServerProcessTest, a_worker_that_outlives_its_server_is_waited_for) {
  const OrphansHere orphans;
  // The worker prints "ready" when it ignores SIGTERM. Then the server, which is the script's first shell, gets SIGTERM
  // and ends. Expected: the server is not gone while the worker still runs.
  const auto server = script("(trap '' TERM; echo ready; exec sleep 60) | (read ready; kill -TERM $$; exec sleep 60)");
  EXPECT_EQ(end_of(*server), "signal 15");
  EXPECT_FALSE(server->is_gone());
}

TEST_F(ServerProcessTest, a_server_that_ignores_sigterm_is_killed) {
  const OrphansHere orphans;
  int pid = 0;
  {
    const auto server = script("trap '' TERM; while :; do sleep 60; done");
    pid = server->pid();
    EXPECT_TRUE(loop_->until_seen(loop_->now() + kLong, [pid] { return ignores_sigterm(pid); }));
    server->ask_to_end();
    EXPECT_EQ(::kill(-pid, 0), 0);
  }
  EXPECT_NE(::kill(-pid, 0), 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(ServerProcessTest, a_server_stays_on_its_cpus) {
  cpu_set_t mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &mine)) --last;
  std::vector<std::string> words{"/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status | tr -d '\\t' >&2; exit 1",
                                 "{port}"};
  EXPECT_EQ(end_of(*start(words, {last})), fmt::format("exit code 1 (Cpus_allowed_list:{})", last));
}

TEST(ServerProcessWords, which_say_where_to_listen) {
  EXPECT_TRUE(tells_where({"a", "--listen={listen}"}));
  EXPECT_TRUE(tells_where({"a", "-p", "{port}"}));
  EXPECT_FALSE(tells_where({"a", "{host}", "{threads}", "port"}));
  EXPECT_FALSE(tells_where({}));
}

}  // namespace
}  // namespace peal::load
