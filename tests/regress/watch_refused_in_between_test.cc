// SPDX-License-Identifier: BSD-3-Clause
// An engine may refuse to watch an fd that it has watched before, or that it would watch a moment later. The kernel may
// be out of memory, or the user's epoll watches may be used up (ENOSPC). Such a refusal had two bad effects:
// - The TCP socket of a name server was closed while c-ares still used it, if its second registration was refused.
//   Another socket that got its number then ended the process.
// - A loop received no signal any more, not even SIGTERM, if the watch for its signals had been refused once.
#include <sys/socket.h>
#include <sys/stat.h>

#include <csignal>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <peal/loop/loop.h>
#include <peal/net/resolver.h>
#include <tests/support/dns/dns_script.h>
#include <tests/support/engines/refusing_engine.h>
#include <tests/support/loop_thread.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RefusedInBetween : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    if (IsSkipped()) return;
    loop = std::make_unique<Loop>(std::make_unique<test::RefusingEngine>(test::make_engine(GetParam()).value(),
                                                                         [this](int fd) { return refusal(fd); }),
                                  LoopOptions{});
  }
  void TearDown() override {
    loop.reset();
    if (!IsSkipped()) expect_no_fd_left();
  }

  std::function<std::error_code(int)> refusal = [](int) { return std::error_code(); };
  std::unique_ptr<Loop> loop;
};

// Returns the inode of a TCP socket, which identifies it whatever its number is, or 0 if the fd is no TCP socket.
ino_t tcp_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  struct stat facts{};
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return 0;
  return ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

TEST_P(RefusedInBetween, socket_of_a_name_server_stays_open) {
  test::DnsScript dns;
  dns.entries["long.test"] = {.addresses = {"192.0.2.1"}, .truncated = true};
  std::map<ino_t, int> asked;
  int refused = 0;
  refusal = [&](int fd) {
    const ino_t socket = tcp_socket(fd);
    if (socket == 0 || ++asked[socket] != 2 || refused > 0) return std::error_code();
    ++refused;
    loop->after(milliseconds(5), [=] { EXPECT_EQ(tcp_socket(fd), socket) << "it was closed while c-ares used it"; });
    return errno_code(ENOSPC);
  };
  std::string answer;
  {
    Resolver resolver(*loop, {.servers = dns.server(), .try_timeout = milliseconds(500), .tries = 2});
    loop->post([&] {
      EXPECT_TRUE(resolver.resolve("long.test", 80, {}, [&](Result<Resolver::Addresses> addresses) {
        answer = addresses ? addresses->front().to_string() : addresses.error().message();
        loop->stop();
      }));
    });
    loop->every(milliseconds(1), [&] { dns.pump(); });
    ASSERT_TRUE(loop->run());
  }
  EXPECT_EQ(refused, 1);
  EXPECT_FALSE(answer.empty());
  EXPECT_EQ(loop->stats().exceptions, 0u);
}

TEST_P(RefusedInBetween, signals_still_arrive) {
  int refused = 0;
  refusal = [&](int) { return ++refused == 1 ? errno_code(ENOMEM) : std::error_code(); };
  std::string heard;
  loop->post([&] {
    EXPECT_TRUE(loop->on_signal(SIGUSR1, [&] {
      heard += "1";
      if (heard.size() == 2) loop->stop();
    }));
    EXPECT_TRUE(loop->on_signal(SIGUSR2, [&] {
      heard += "2";
      if (heard.size() == 2) loop->stop();
    }));
    ::raise(SIGUSR2);
    ::raise(SIGUSR1);
  });
  loop->after(seconds(10), [&] { loop->stop(); });
  ASSERT_TRUE(loop->run());
  EXPECT_GE(refused, 2);
  EXPECT_EQ(heard, "12");
}

PEAL_TEST_ON_EVERY_ENGINE(RefusedInBetween);

}  // namespace
}  // namespace peal
