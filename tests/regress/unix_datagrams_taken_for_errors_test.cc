// SPDX-License-Identifier: BSD-3-Clause
// A unix datagram socket lost datagrams silently. At the end of each turn the engine read the errors of a datagram
// socket from its error queue (MSG_ERRQUEUE). A unix socket has no error queue, and its recvmsg(2) ignores this flag:
// it returned the next datagram, which was taken for an empty error and dropped. This happened to each datagram that
// came between the last read of a turn and the read of the errors, and to all beyond the 32 that one turn reads.
#include <unistd.h>

#include <string>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class UnixDatagramsTakenForErrors : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, UnixDatagramsTakenForErrors, testing::ValuesIn(engines_with_fds()), engine_label);

// Sends the next datagram for each one that it receives.
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

TEST_P(UnixDatagramsTakenForErrors, all_arrive_if_there_are_more_than_one_turn_reads) {
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
