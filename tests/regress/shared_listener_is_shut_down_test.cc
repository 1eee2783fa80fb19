// SPDX-License-Identifier: BSD-3-Clause
// A listening socket that several processes hold is shut down, shutdown(2), by one of them: a helper that a worker
// started, say, or an old program that thinks it alone has it. accept(2) answered EINVAL in all others, an assertion
// took that for a bug of peal's own, and every worker aborted at once, with all their connections. At a unix address
// accept(2) answers EAGAIN instead, of a socket that is always ready: there they spun.
//
// The others go on with what they have, say so once, and try that listener once a second: who calls listen(2) on the
// socket again brings it back.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include <peal/base/log.h>
#include <peal/engine/listening_socket.h>
#include <tests/support/engine_rig.h>
#include <tests/support/raw_peer.h>

namespace peal {
namespace {

class SharedListenerShutDown : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    set_log_sink([this](const LogRecord& record) { complaints_ += record.level >= LogLevel::kError ? 1 : 0; });
  }
  void TearDown() override {
    EngineTest::TearDown();
    set_log_sink({});
  }
  // What another holder has of it.
  static Fd copy_of(const Fd& fd) { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }
  // Until accept(2) has failed so often.
  void fails(uint64_t times) {
    const uint64_t until = rig().stats().accepts_failed + times;
    ASSERT_TRUE(rig().run_until([&] { return rig().stats().accepts_failed >= until; }));
  }

  int complaints_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Engines, SharedListenerShutDown, testing::ValuesIn(engines_with_fds()), engine_label);

TEST_P(SharedListenerShutDown, who_is_connected_stays_and_it_comes_back) {
  const Fd other = open_listening_socket(EngineRig::loopback(), {}).value();
  AcceptLog& acceptor = rig().adopt_listener(copy_of(other), {.socket = {}, .shared = true});
  AcceptLog& beside = rig().listen();
  RawPeer peer = RawPeer::connected(acceptor.address);
  ASSERT_TRUE(rig().run_until([&] { return acceptor.accept_count == 1; }));
  StreamLog& server = rig().adopt(std::move(acceptor.accepted.front()));
  server.receive();

  ASSERT_EQ(::shutdown(other.get(), SHUT_RDWR), 0);
  fails(1);
  const uint64_t waits = rig().stats().waits;
  peer.send("still here");
  ASSERT_TRUE(rig().run_until([&] { return server.received == "still here"; }));
  RawPeer neighbour = RawPeer::connected(beside.address);
  ASSERT_TRUE(rig().run_until([&] { return beside.accept_count == 1; }));
  fails(1);
  EXPECT_LE(rig().stats().waits - waits, 20U) << "a listener that hears nobody spins";
  EXPECT_EQ(complaints_, 1);

  ASSERT_EQ(::listen(other.get(), 16), 0);
  RawPeer late = RawPeer::connected(listening_address(other.get()).value());
  ASSERT_TRUE(rig().run_until([&] { return acceptor.accept_count == 2; }));
}

TEST_P(SharedListenerShutDown, before_it_accepts_at_all_and_at_a_unix_address) {
  const std::string path = testing::TempDir() + "peal-shut-down-" + std::to_string(::getpid());
  for (const SocketAddress& address : {EngineRig::loopback(), SocketAddress::parse("unix:" + path).value()}) {
    Fd other = open_listening_socket(address, {}).value();
    const SocketFile file = SocketFile::of(other.get());
    const Result<ListenerId> id = rig().engine().adopt_listener(copy_of(other), {.socket = {}, .shared = true});
    ASSERT_TRUE(id.has_value());
    struct Nobody final : AcceptEvents {
      void on_accepted(LooseStream) override { ADD_FAILURE() << "accepted from a socket that was shut down"; }
      void on_accept_stopped() override { stopped = true; }
      bool stopped = false;
    } nobody;
    ASSERT_EQ(::shutdown(other.get(), SHUT_RD), 0);
    rig().engine().accept(*id, nobody);
    fails(1);
    rig().engine().stop(*id);
    ASSERT_TRUE(rig().run_until([&] { return nobody.stopped; }));
    close_listening_socket(std::move(other), file);
  }
  EXPECT_EQ(complaints_, 2);
}

}  // namespace
}  // namespace peal
