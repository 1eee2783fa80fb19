// SPDX-License-Identifier: BSD-3-Clause
// Several processes held one listening socket, and one of them called shutdown(2) on it. This may be a helper that a
// worker started, or an old program that believes it is the only owner. In all other processes accept(2) then failed
// with EINVAL. An assertion took this for a defect of peal, and every worker aborted at once, with all its connections.
// At a unix address accept(2) fails with EAGAIN instead, although the socket is always ready: there the workers spun.
//
// Now the other processes keep their connections, log the error once, and try this listener once a second. If somebody
// calls listen(2) on the socket again, it accepts again.
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
  // Returns a second fd of the same socket, as another process would hold it.
  static Fd copy_of(const Fd& fd) { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }
  // Runs the engine until accept(2) has failed `times` more times.
  void fails(uint64_t times) {
    const uint64_t until = rig().stats().accepts_failed + times;
    ASSERT_TRUE(rig().run_until([&] { return rig().stats().accepts_failed >= until; }));
  }

  int complaints_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Engines, SharedListenerShutDown, testing::ValuesIn(engines_with_fds()), engine_label);

TEST_P(SharedListenerShutDown, connections_stay_and_the_listener_comes_back) {
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
  EXPECT_LE(rig().stats().waits - waits, 20U) << "the engine spins on a listener that was shut down";
  EXPECT_EQ(complaints_, 1);

  ASSERT_EQ(::listen(other.get(), 16), 0);
  RawPeer late = RawPeer::connected(listening_address(other.get()).value());
  ASSERT_TRUE(rig().run_until([&] { return acceptor.accept_count == 2; }));
}

TEST_P(SharedListenerShutDown, before_its_first_accept_at_an_ip_and_a_unix_address) {
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
