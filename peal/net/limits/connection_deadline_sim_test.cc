// SPDX-License-Identifier: BSD-3-Clause
// Deadlines that a peer meets by acting often enough. They are played in virtual time, because a busy machine is late.

#include <tests/support/sim_rig.h>

namespace peal {
namespace {

constexpr Duration kLimit = std::chrono::milliseconds(60);

class SimDeadline : public test::SimTest {
 protected:
  // A connection with the server's `options`; `input` gets the bytes that the server receives.
  struct Line {
    Line(test::SimPair& its_pair, const ConnectionOptions& options, Callback<void(Buffer&)> input)
        : pair(its_pair),
          server(*pair.here,
                 {.on_open = [this](Connection& connection) { here = connection.handle(); },
                  .on_message = [take = std::move(input)](Connection&, Buffer& bytes) mutable { take(bytes); },
                  .on_close =
                      [this](Connection&, CloseReason why) {
                        reason = why;
                        ended_at = pair.world.now();
                      }},
                 {.connection = options}),
          client(*pair.there, {.on_open = [this](Connection& connection) { there = connection.handle(); }}) {
      EXPECT_TRUE(client.connect(pair.listen(server)));
      EXPECT_TRUE(pair.run_until([this] { return here && there; }));
    }
    // Calls `act` often enough, for four times the limit. Returns false if the connection ended.
    bool stands(const std::function<void()>& act) {
      for (int i = 0; i < 8; ++i) {
        act();
        acted_at = pair.world.now();
        pair.run_for(kLimit / 2);
      }
      return ended_at == kNever;
    }
    bool ends() {
      return pair.run_until([this] { return ended_at != kNever; });
    }

    test::SimPair& pair;
    ConnectionHandle here;
    ConnectionHandle there;
    CloseReason reason = CloseReason::kLocal;
    TimePoint acted_at;
    TimePoint ended_at = kNever;
    Server server;
    Client client;
  };
};

TEST_F(SimDeadline, bytes_in_or_out_keep_a_connection_alive) {
  on_seeds(50, rough(), [](test::SimPair& pair) {
    Line line(pair, {.idle_timeout = kLimit}, [](Buffer& bytes) { bytes.clear(); });
    EXPECT_TRUE(line.stands([&] { (pair.seed % 2 == 0 ? line.here : line.there).send("x"); }));
    ASSERT_TRUE(line.ends());
    EXPECT_EQ(line.reason, CloseReason::kIdle);
    EXPECT_GE(line.ended_at, line.acted_at + kLimit);
    EXPECT_LT(line.ended_at, line.acted_at + kLimit * 5 / 2);
  });
}

TEST_F(SimDeadline, peer_that_sends_fast_enough_or_nothing_at_all_is_not_cut_off) {
  on_seeds(50, rough(), [](test::SimPair& pair) {
    Line line(pair, {.min_read_bytes = 10, .read_window = kLimit}, [](Buffer& bytes) {
      if (bytes.view().ends_with('\n')) bytes.clear();
    });
    // The peer sends a long message in small pieces.
    EXPECT_TRUE(line.stands([&] { line.there.send("0123456789"); }));
    line.there.send("\n");
    // The peer sends nothing between messages.
    EXPECT_TRUE(line.stands([] {}));
    // The peer begins a message that never becomes complete.
    line.there.send("x");
    ASSERT_TRUE(line.ends());
    EXPECT_EQ(line.reason, CloseReason::kReadTooSlow);
    EXPECT_GE(line.ended_at, line.acted_at + kLimit);
  });
}

}  // namespace
}  // namespace peal
