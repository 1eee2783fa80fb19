// SPDX-License-Identifier: BSD-3-Clause
// A unix datagram socket lost datagrams without a word. At the end of each turn a datagram socket's errors were read
// from its error queue (MSG_ERRQUEUE); a unix socket has none, and its recvmsg(2) pays no heed to that flag: it hands
// over the next datagram, which was taken for an error of nothing and dropped. That happened to whatever came between
// the last read of a turn and that question, and to all beyond the 32 that one turn takes.
#include <unistd.h>

#include <string>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class UnixDatagramsTakenForErrors : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, UnixDatagramsTakenForErrors, testing::ValuesIn(engines_with_fds()), engine_label);

// Each datagram that it receives is the reason for the next.
struct Echo final : DatagramEvents {
  void on_datagram(const SocketAddress& from, Buffer& bytes) override {
    if (++received == kDatagrams) return;
    EXPECT_TRUE(socket->send(from, bytes.to_string()));
  }
  void on_datagram_error(std::error_code error) override { ADD_FAILURE() << error.message(); }
  void on_datagrams_closed() override { closed = true; }

  static constexpr int kDatagrams = 200;
  Datagrams* socket = nullptr;
  int received = 0;
  bool closed = false;
};

TEST_P(UnixDatagramsTakenForErrors, more_than_a_turn_takes_all_arrive) {
  const SocketAddress address = SocketAddress::parse("unix:@peal-datagrams-" + std::to_string(::getpid())).value();
  Echo echo;
  echo.socket = rig().engine().open_datagrams(address, {}, echo).value();
  ASSERT_TRUE(echo.socket->send(address, "on and on"));
  EXPECT_TRUE(rig().run_until([&] { return echo.received == Echo::kDatagrams; })) << "after " << echo.received;
  echo.socket->close();
  ASSERT_TRUE(rig().run_until([&] { return echo.closed; }));
}

}  // namespace
}  // namespace peal
