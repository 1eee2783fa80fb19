// SPDX-License-Identifier: BSD-3-Clause
// Two joined connections: bytes, backpressure, half-close and every way in which one can end, with and without splice.
#include <peal/net/pipe.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

// A server that pipes each second connection to the one before it.
class PipeTest : public test::NetTest {
 protected:
  void TearDown() override {
    forget();
    test::NetTest::TearDown();
  }
  void forget() {
    a.reset();
    b.reset();
    first_ = second_ = {};
    journal.clear();
  }
  [[nodiscard]] std::unique_ptr<Server> serve_pipes(bool splice, ConnectionCallbacks callbacks = {},
                                                    const ServerOptions& options = {}) {
    callbacks.on_open = [this, splice](Connection& connection) {
      (first_ ? second_ : first_) = connection.handle();
      if (!second_ || !join_at_once) return;
      first_.run([&](Connection& first) { join(first, connection, splice); });
    };
    callbacks.on_close = [this](Connection& connection, CloseReason reason) {
      journal.add(fmt::format("close: {}, {} in, {} out", to_string(reason), connection.received_bytes(),
                              connection.sent_bytes()));
    };
    return serve(std::move(callbacks), options);
  }
  void join(Connection& first, Connection& second, bool splice) {
    Result<void> joined = pipe(first, second, {.splice = splice}, [this](PipeReport report) {
      journal.add(fmt::format("done: {} and {}", report.a_to_b_bytes, report.b_to_a_bytes));
    });
    journal.add(joined ? "joined" : joined.error().message());
  }
  bool joined() const { return journal.count("joined") == 1; }
  bool done() const {
    return std::ranges::any_of(journal.lines(), [](auto& line) { return line.starts_with("done"); });
  }
  // Connects both peers in this order and joins them.
  void connect_both() {
    a.emplace(connect_peer());
    ASSERT_TRUE(wait_until([this] { return bool(first_); }));
    b.emplace(connect_peer(small_buffer));
    ASSERT_TRUE(wait_until([this] { return joined(); }));
  }
  // Runs a test with and without splice.
  void each_way(const std::function<void(bool splice)>& body) {
    for (bool splice : {false, true}) {
      SCOPED_TRACE(splice ? "spliced" : "in blocks");
      body(splice);
      forget();
    }
  }
  testing::AssertionResult arrives(RawPeer& peer, std::string_view bytes) {
    testing::AssertionResult all = wait_until([&] {
      peer.pump();
      return peer.received().size() >= bytes.size();
    });
    return all ? same_bytes(peer.received(), std::string(bytes)) : all;
  }

  bool join_at_once = true;
  std::optional<RawPeer> a;
  std::optional<RawPeer> b;
  int small_buffer = 0;
  ConnectionHandle first_;
  ConnectionHandle second_;
};

TEST_P(PipeTest, what_each_side_sends_reaches_the_other_and_both_ends_are_counted) {
  each_way([this](bool splice) {
    auto server = serve_pipes(splice);
    connect_both();
    a->send("from a");
    b->send("from b!");
    EXPECT_TRUE(arrives(*a, "from b!"));
    EXPECT_TRUE(arrives(*b, "from a"));
    a->fin();
    ASSERT_TRUE(wait_until([&] {
      b->pump();
      return b->ended();
    }));
    b->send(" more");
    EXPECT_TRUE(arrives(*a, "from b! more"));
    b->fin();
    ASSERT_TRUE(wait_until([&] {
      a->pump();
      return a->ended() && done();
    }));
    EXPECT_EQ(a->error(), 0);
    EXPECT_EQ(journal.count("close: closed by the peer, 6 in, 12 out"), 1u);
    EXPECT_EQ(journal.count("close: closed by the peer, 12 in, 6 out"), 1u);
    EXPECT_EQ(journal.lines().back(), "done: 6 and 12");
  });
}

TEST_P(PipeTest, slow_reader_holds_up_the_sender_and_memory_stays_bounded) {
  each_way([this](bool splice) {
    auto server = serve_pipes(splice, {}, {.connection = {.high_water_bytes = 64 * 1024}});
    small_buffer = 16 * 1024;
    connect_both();
    std::string bytes = pattern(24 * 1024 * 1024);
    std::string_view left = bytes;
    size_t most_queued = 0;
    // b reads nothing until none of a's bytes is accepted any more.
    ASSERT_TRUE(wait_until([&, stuck = 0]() mutable {
      const size_t sent = a->try_send(left.substr(0, 1 << 20));
      left.remove_prefix(sent);
      second_.run([&](Connection& to) { most_queued = std::max(most_queued, to.queued_bytes()); });
      stuck = sent == 0 ? stuck + 1 : 0;
      return stuck == 20;
    }));
    EXPECT_LT(most_queued, 4u << 20);
    ASSERT_GT(left.size(), 0u);
    left = left.substr(0, 1 << 20);
    bytes.resize(static_cast<size_t>(left.data() - bytes.data()) + left.size());
    ASSERT_TRUE(wait_until([&] {
      left.remove_prefix(a->try_send(left));
      b->pump();
      return b->received().size() == bytes.size();
    }));
    EXPECT_TRUE(same_bytes(b->received(), bytes));
    a->fin();
    b->fin();
    ASSERT_TRUE(wait_until([&] { return done(); }));
    EXPECT_EQ(journal.lines().back(), fmt::format("done: {} and 0", bytes.size()));
  });
}

TEST_P(PipeTest, fin_right_behind_a_flood_loses_nothing) {
  each_way([this](bool splice) {
    auto server = serve_pipes(splice);
    connect_both();
    const std::string bytes = pattern(3'000'000);
    ASSERT_TRUE(wait_until([&, left = std::string_view(bytes)]() mutable {
      left.remove_prefix(a->try_send(left));
      if (!left.empty()) return false;
      a->fin();
      return true;
    }));
    ASSERT_TRUE(wait_until([&] {
      b->pump();
      return b->ended();
    }));
    EXPECT_TRUE(same_bytes(b->received(), bytes));
    b->close();
    ASSERT_TRUE(wait_until([&] { return done(); }));
  });
}

TEST_P(PipeTest, reset_of_one_side_resets_the_other) {
  each_way([this](bool splice) {
    auto server = serve_pipes(splice);
    connect_both();
    a->reset();
    ASSERT_TRUE(wait_until([&] {
      b->pump();
      return b->ended() || b->error() != 0;
    }));
    EXPECT_EQ(b->error(), ECONNRESET);
    ASSERT_TRUE(wait_until([&] { return done(); }));
    EXPECT_EQ(journal.count("close: reset by the peer, 0 in, 0 out"), 1u);
    EXPECT_EQ(journal.count("close: the other end of its pipe ended, 0 in, 0 out"), 1u);
  });
}

// A paused side is not read, so no read would report the reset.
TEST_P(PipeTest, side_that_is_paused_ends_when_its_peer_resets) {
  each_way([this](bool splice) {
    auto server = serve_pipes(splice);
    connect_both();
    ask([this] { first_.run([](Connection& first) { first.pause(); }); });
    a->reset();
    ASSERT_TRUE(wait_until([&] { return done(); }));
    EXPECT_EQ(journal.count("close: reset by the peer, 0 in, 0 out"), 1u);
    EXPECT_EQ(journal.count("close: the other end of its pipe ended, 0 in, 0 out"), 1u);
  });
}

TEST_P(PipeTest, close_of_one_side_ends_the_other_gracefully) {
  auto server = serve_pipes(true);
  connect_both();
  a->send("last words");
  EXPECT_TRUE(arrives(*b, "last words"));
  ask([this] { first_.close(); });
  ASSERT_TRUE(wait_until([&] {
    a->pump();
    b->pump();
    return a->ended() && b->ended();
  }));
  EXPECT_EQ(a->error() + b->error(), 0);
  a->close();
  b->close();
  ASSERT_TRUE(wait_until([&] { return done(); }));
  EXPECT_EQ(journal.count("close: closed here, 10 in, 0 out"), 1u);
  EXPECT_EQ(journal.count("close: the other end of its pipe ended, 0 in, 10 out"), 1u);
}

TEST_P(PipeTest, kept_input_goes_first) {
  auto server = serve_pipes(
      true, {.on_message = [this](Connection&, Buffer& input) { journal.add(fmt::format("kept {}", input.size())); }});
  a.emplace(connect_peer());
  a->send("kept ");
  ASSERT_TRUE(noted("kept 5"));
  b.emplace(connect_peer());
  ASSERT_TRUE(wait_until([this] { return joined(); }));
  a->send("and fresh");
  EXPECT_TRUE(arrives(*b, "kept and fresh"));
  EXPECT_THAT(journal.lines(), ElementsAre("kept 5", "joined"));
}

TEST_P(PipeTest, joined_inside_on_message_with_input_left) {
  join_at_once = false;
  auto server = serve_pipes(true, {.on_message = [this](Connection& one, Buffer& input) {
                              input.consume(8);
                              second_.run([&](Connection& other) { join(one, other, true); });
                            }});
  a.emplace(connect_peer());
  ASSERT_TRUE(wait_until([this] { return bool(first_); }));
  b.emplace(connect_peer());
  ASSERT_TRUE(wait_until([this] { return bool(second_); }));
  a->send("CONNECT payload");
  EXPECT_TRUE(arrives(*b, "payload"));
}

TEST_P(PipeTest, side_that_is_ending_is_refused) {
  auto server = serve_pipes(true);
  a.emplace(connect_peer());
  ASSERT_TRUE(wait_until([this] { return bool(first_); }));
  ask([this] { first_.run([](Connection& first) { first.close(); }); });
  b.emplace(connect_peer());
  ASSERT_TRUE(wait_until([this] { return journal.lines().size() == 1; }));
  EXPECT_EQ(journal.lines().front(), errno_code(ENOTCONN).message());
}

TEST_P(PipeTest, server_is_destroyed_and_nobody_is_told) {
  auto server = serve_pipes(true);
  connect_both();
  server.reset();
  ASSERT_TRUE(wait_until([&] {
    a->pump();
    b->pump();
    return a->ended() && b->ended();
  }));
  EXPECT_THAT(journal.lines(), ElementsAre("joined"));
}

TEST_P(PipeTest, loop_ends_under_it) {
  auto server = serve_pipes(true);
  connect_both();
  end_loop();
  EXPECT_TRUE(done());
}

PEAL_TEST_ON_EVERY_PORT(PipeTest);

}  // namespace
}  // namespace peal
