// SPDX-License-Identifier: BSD-3-Clause
// Runs `peal serve pingpong` as a script would. Checks what it prints, how it exits, and that it serves.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/engine/engines.h>
#include <tests/support/engine_rig.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/program.h>
#include <tests/support/raw_peer.h>

namespace peal {
namespace {

using testing::HasSubstr;

void expect_echo(const SocketAddress& address) {
  RawPeer peer = RawPeer::connected(address);
  std::string bytes = pattern(20'000);
  peer.send(bytes);
  while (peer.received().size() < bytes.size() && readable(peer.fd()) && peer.pump()) {
  }
  EXPECT_TRUE(same_bytes(peer.received(), bytes));
}

TEST(Serve, sends_back_what_comes_and_ends_on_sigterm) {
  for (int signal : {SIGTERM, SIGINT}) {
    Program program({"serve", "pingpong", "--listen", "127.0.0.1:0"});
    SocketAddress address = program.listening();
    expect_echo(address);
    RawPeer open = RawPeer::connected(address);
    open.fin();
    program.signal(signal);
    EXPECT_EQ(program.exit_code(), 0);
    EXPECT_EQ(program.errors(), "");
  }
}

TEST(Serve, sigterm_drains_and_reports) {
  for (std::string threads : {"1", "2"}) {
    SCOPED_TRACE(threads);
    Program program({"serve", "pingpong", "--listen", "127.0.0.1:0", "--threads", threads, "--drain", "100ms"});
    SocketAddress address = program.listening();
    RawPeer polite = RawPeer::connected(address);
    polite.send("hello");
    polite.fin();
    while (!polite.ended() && readable(polite.fd()) && polite.pump()) {
    }
    EXPECT_EQ(polite.received(), "hello");
    RawPeer mute = RawPeer::connected(address);  // sends no FIN after the server's FIN
    mute.send("x");
    ASSERT_TRUE(readable(mute.fd()));
    program.signal(SIGTERM);
    EXPECT_EQ(program.exit_code(), 0);
    EXPECT_EQ(program.output(), "drained: 0 finished, 1 cut off, 0 bytes lost here, 0 in the kernel\n");
    EXPECT_EQ(program.errors(), "");
  }
}

TEST(Serve, second_sigterm_does_not_wait) {
  Program program({"serve", "pingpong", "--listen", "127.0.0.1:0", "--drain", "1h"});
  RawPeer mute = RawPeer::connected(program.listening());
  mute.send("x");
  ASSERT_TRUE(readable(mute.fd()));
  program.signal(SIGTERM);
  while (!mute.ended() && readable(mute.fd()) && mute.pump()) {
  }
  EXPECT_TRUE(mute.ended());
  program.signal(SIGTERM);
  EXPECT_EQ(program.exit_code(), 0);
}

TEST(Serve, caps_and_idle_timeout) {
  Program program({"serve", "pingpong", "--listen", "127.0.0.1:0", "--max-connections", "2", "--max-per-address", "1",
                   "--idle-timeout", "200ms"});
  SocketAddress address = program.listening();
  RawPeer first = RawPeer::connected(address);
  first.send("x");
  ASSERT_TRUE(readable(first.fd()));
  first.pump();
  RawPeer second = RawPeer::connected(address);
  ASSERT_TRUE(readable(first.fd())) << "the older connection must be closed";
  EXPECT_FALSE(first.pump());
  ASSERT_TRUE(readable(second.fd())) << "the newer connection must be closed when it is idle";
  EXPECT_FALSE(second.pump());
  program.signal(SIGINT);
  EXPECT_EQ(program.exit_code(), 0);
}

TEST(Serve, serves_in_every_mode_on_every_engine) {
  for (const std::string& engine : engines_with_fds()) {
    if (!why_unsupported(engine).empty()) continue;
    for (std::string mode : {"reuseport", "round-robin", "least-loaded"}) {
      SCOPED_TRACE(engine + " " + mode);
      Program program({"serve", "pingpong", "--listen", "127.0.0.1:0", "--threads", "2", "--accept", mode, "--engine",
                       engine, "--spin", "20us"});
      SocketAddress address = program.listening();
      for (int i = 0; i < 4; ++i) expect_echo(address);
      program.signal(SIGTERM);
      EXPECT_EQ(program.exit_code(), 0);
    }
  }
}

TEST(Serve, unix_socket_and_ipv6) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("socket");
  {
    Program program({"serve", "pingpong", "--listen", "unix:" + path, "--threads", "2"});
    SocketAddress address = program.listening();
    EXPECT_EQ(address.to_string(), "unix:" + path);
    expect_echo(address);
    program.signal(SIGTERM);
    EXPECT_EQ(program.exit_code(), 0);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  if (!has_ipv6_loopback()) GTEST_SKIP() << "this machine has no IPv6";
  Program program({"serve", "pingpong", "--listen", "[::1]:0"});
  expect_echo(program.listening());
}

TEST(Serve, port_taken_is_said_in_one_sentence) {
  Program first({"serve", "pingpong", "--listen", "127.0.0.1:0", "--threads", "2"});
  const std::string address = first.listening().to_string();
  for (std::string threads : {"1", "2"}) {
    Program second({"serve", "pingpong", "--listen", address, "--threads", threads});
    EXPECT_EQ(second.exit_code(), 1);
    expect_one_sentence(second.errors());
    EXPECT_THAT(second.errors(), HasSubstr(address + " is taken"));
    EXPECT_EQ(second.output(), "");
  }
}

TEST(Serve, path_taken_is_said_as_what_it_is) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("taken");
  const auto said = [&] {
    Program program({"serve", "pingpong", "--listen", "unix:" + path});
    EXPECT_EQ(program.exit_code(), 1);
    expect_one_sentence(program.errors());
    return program.errors();
  };
  std::filesystem::create_directory(path);
  EXPECT_THAT(said(), HasSubstr(path + " is there already and is no socket; remove it, or choose another path"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/no/such/place", path);
  EXPECT_THAT(said(), HasSubstr(path + " is there already and is no socket"));
  std::filesystem::remove(path);
  {
    Program first({"serve", "pingpong", "--listen", "unix:" + path});
    first.listening();
    EXPECT_THAT(said(), HasSubstr(path + " is taken: another program has that socket; choose another path"));
  }
  std::filesystem::remove(path);
  if (::geteuid() == 0) return;
  Program program({"serve", "pingpong", "--listen", "unix:/peal-taken"});
  EXPECT_EQ(program.exit_code(), 1);
  EXPECT_THAT(program.errors(), HasSubstr("choose a folder that the user may write to"));
}

TEST(Serve, what_is_asked_wrongly_exits_with_2_and_one_sentence) {
  const std::vector<std::vector<std::string>> wrong = {
      {"serve", "pingpong", "--listen", "localhost"},
      {"serve", "pingpong", "--listen", "127.0.0.1:http"},
      {"serve", "pingpong", "--listen", ""},
      {"serve", "pingpong", "--no-such-option"},
      {"serve", "pingpong", "--threads", "0"},
      {"serve", "pingpong", "--threads", "many"},
      {"serve", "pingpong", "--workers", "many"},
      {"serve", "pingpong", "--flight-recorder", "1000000000000000"},
      {"serve", "pingpong", "--accept", "all"},
      {"serve", "pingpong", "--engine", "kqueue"},
      {"serve", "pingpong", "--spin", "a lot"},
      {"serve", "pingpong", "--drain", "long"},
      {"serve", "pingpong", "--idle-timeout", "-1s"},
      {"serve", "pingpong", "--max-connections", "many"},
      {"serve", "nothing"},
      {"serve"},
      {"no-such-command"},
      {},
  };
  for (const auto& arguments : wrong) {
    Program program(arguments);
    EXPECT_EQ(program.exit_code(), 2) << testing::PrintToString(arguments);
    expect_one_sentence(program.errors());
    EXPECT_EQ(program.output(), "");
  }
}

TEST(Serve, what_cannot_be_done_exits_with_1_and_one_sentence) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> failing = {
      {{"serve", "pingpong", "--listen", "192.0.2.1:0"}, "192.0.2.1:0 is not an address of this machine"},
      {{"serve", "pingpong", "--listen", "unix:/nowhere/at/all/socket"}, "/nowhere/at/all/socket"},
  };
  for (const auto& [arguments, named] : failing) {
    Program program(arguments);
    EXPECT_EQ(program.exit_code(), 1) << testing::PrintToString(arguments);
    expect_one_sentence(program.errors());
    EXPECT_THAT(program.errors(), HasSubstr(named));
  }
}

TEST(Serve, help_has_an_example) {
  for (std::vector<std::string> arguments : {std::vector<std::string>{"serve", "pingpong", "--help"}, {"--help"}}) {
    Program program(arguments);
    EXPECT_EQ(program.exit_code(), 0);
    EXPECT_EQ(program.errors(), "");
    EXPECT_THAT(program.output(), HasSubstr("serve"));
  }
  Program program({"serve", "pingpong", "--help"});
  EXPECT_EQ(program.exit_code(), 0);
  EXPECT_THAT(program.output(), HasSubstr("\nExamples:\n  peal serve pingpong --listen"));
}

}  // namespace
}  // namespace peal
