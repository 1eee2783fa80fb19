// SPDX-License-Identifier: BSD-3-Clause
// Tests how many handshake messages a loop works on in one turn, so that open connections do not wait.
#include <deque>

#include <tests/support/engine_rig.h>
#include <tests/support/tls/tls_peer.h>

namespace peal {
namespace {

using test::TlsPeer;

class TlsTurns : public EngineTest {
 protected:
  void TearDown() override {
    peers.clear();
    EngineTest::TearDown();
  }
  // Connects `count` peers, which send their hellos. The engine adopts the connections.
  void meet(size_t count) {
    AcceptLog& acceptor = rig().listen();
    for (size_t i = 0; i < count; ++i) {
      TlsPeer& peer = peers.emplace_back(acceptor.address);
      peer.raw.send(peer.codec.take_wire());
    }
    ASSERT_TRUE(rig().run_until([&] { return acceptor.accepted.size() == count; }));
    for (LooseStream& loose : acceptor.accepted) streams.push_back(&rig().adopt(std::move(loose)));
  }
  size_t answered() {
    size_t sum = 0;
    for (TlsPeer& peer : peers) {
      peer.raw.pump();
      sum += peer.raw.received().empty() ? 0 : 1;
    }
    return sum;
  }

  std::deque<TlsPeer> peers;
  std::vector<StreamLog*> streams;
};

TEST_P(TlsTurns, one_hello_is_answered_in_each) {
  constexpr size_t kPeers = 20;
  ASSERT_NO_FATAL_FAILURE(meet(kPeers));
  size_t before = answered();
  EXPECT_EQ(before, 0u);
  for (int turn = 0; before < kPeers && turn < 1000; ++turn) {
    rig().wait(Engine::kPollOnly);
    const size_t now = answered();
    ASSERT_LE(now, static_cast<size_t>(turn) + 1) << "in turn " << turn;
    before = now;
  }
  EXPECT_EQ(before, kPeers);
}

TEST_P(TlsTurns, those_that_wait_keep_the_engine_from_sleeping) {
  ASSERT_NO_FATAL_FAILURE(meet(5));
  // All peers are answered within a few waits, although each wait may sleep without limit.
  for (int turn = 0; turn < 20; ++turn) rig().wait(answered() < 5 ? kNever : rig().engine().now());
  EXPECT_EQ(answered(), 5u);
}

TEST_P(TlsTurns, one_that_is_closed_while_it_waits_is_passed_over) {
  ASSERT_NO_FATAL_FAILURE(meet(5));
  rig().wait(Engine::kPollOnly);
  for (size_t i = 0; i < 4; ++i) streams[i]->close();
  ASSERT_TRUE(rig().run_beside([&] { return peers[4].is_open(); }));
}

INSTANTIATE_TEST_SUITE_P(Engines, TlsTurns, testing::ValuesIn(over_tls(engines_with_fds())), engine_label);

}  // namespace
}  // namespace peal
