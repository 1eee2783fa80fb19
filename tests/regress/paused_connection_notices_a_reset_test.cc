// SPDX-License-Identifier: BSD-3-Clause
// A connection that its owner had paused did not notice that its peer had reset: it stayed with its fd, its context and
// its coroutine until somebody resumed it, for ever where nobody did. Now it ends: at once where nothing is left to be
// shown; otherwise it has linger_timeout to be resumed, and all that came before the reset is shown. A client that has
// sent FIN and then goes without waiting for its answer is the same case.
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include <tests/support/net_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

constexpr std::string_view kFirst = "first";  // who hears it pauses

class PausedReset : public test::NetTest {
 protected:
  void serve_pausing(Duration linger, bool keeps = false) {
    ConnectionCallbacks callbacks = journal.callbacks();
    callbacks.on_message = [this, keeps](Connection& connection, Buffer& input) {
      journal.add("message " + std::to_string(input.size()));
      const bool pauses = input.size() == kFirst.size() && !paused_;
      if (!pauses || !keeps) input.clear();
      if (!pauses) return;
      connection.pause();
      paused_ = connection.handle();
    };
    callbacks.on_peer_end = [this](Connection&) { journal.add("end"); };
    ServerOptions options;
    options.connection.linger_timeout = linger;
    server_ = serve(std::move(callbacks), options);
  }
  void TearDown() override {
    server_.reset();
    paused_ = {};
    NetTest::TearDown();
  }
  // A peer whose connection is paused.
  RawPeer paused_peer() {
    RawPeer peer = connect_peer();
    peer.send(kFirst);
    EXPECT_TRUE(noted("message 5"));
    return peer;
  }
  // The loop has heard of all that was done before.
  void let_it_hear() {
    RawPeer knocking = connect_peer();
    knocking.send("knock knock");
    ASSERT_TRUE(noted("message 11"));
    knocking.close();
    ASSERT_TRUE(noted("end"));
  }
  // Of the paused one.
  std::vector<std::string> story() const {
    std::vector<std::string> lines = journal.lines();
    std::erase_if(lines,
                  [](const std::string& line) { return line == "open" || line == "message 11" || line == "end"; });
    return lines;
  }

  std::unique_ptr<Server> server_;
  ConnectionHandle paused_;
};

TEST_P(PausedReset, ends_it_when_nothing_is_left) {
  serve_pausing(std::chrono::hours(1));
  RawPeer peer = paused_peer();
  peer.reset();
  ASSERT_TRUE(wait_until([&] { return server_->connections() == 0; }));
  EXPECT_THAT(story(), ElementsAre("message 5", "close: reset by the peer"));
}

TEST_P(PausedReset, leaves_time_for_what_came_before_it) {
  serve_pausing(std::chrono::hours(1));
  RawPeer peer = paused_peer();
  peer.send("second");
  peer.reset();
  let_it_hear();
  EXPECT_THAT(story(), ElementsAre("message 5"));
  EXPECT_TRUE(paused_.run([](Connection& connection) { connection.resume(); }));
  ASSERT_TRUE(noted("close: reset by the peer"));
  EXPECT_THAT(story(), ElementsAre("message 5", "message 6", "close: reset by the peer"));
}

TEST_P(PausedReset, leaves_time_for_what_is_kept) {
  serve_pausing(std::chrono::hours(1), true);
  RawPeer peer = paused_peer();
  peer.reset();
  let_it_hear();
  EXPECT_THAT(story(), ElementsAre("message 5"));
  EXPECT_TRUE(paused_.run([](Connection& connection) { connection.resume(); }));
  ASSERT_TRUE(noted("close: reset by the peer"));
  EXPECT_THAT(story(), ElementsAre("message 5", "message 5", "close: reset by the peer"));
}

TEST_P(PausedReset, does_not_wait_for_ever_to_show_it) {
  if (GetParam() == "select") GTEST_SKIP() << "select(2) cannot tell a reset from the data before it";
  serve_pausing(std::chrono::milliseconds(20));
  RawPeer peer = paused_peer();
  peer.send("second");
  peer.reset();
  ASSERT_TRUE(wait_until([&] { return server_->connections() == 0; }));
  EXPECT_THAT(story(), ElementsAre("message 5", "close: reset by the peer"));
}

// report_drained() is answered from a completion that also showed kept input again; it ended the timer that was to end
// the connection, which then stayed for ever.
TEST_P(PausedReset, ends_it_though_its_output_is_asked_about) {
  serve_pausing(std::chrono::milliseconds(20), true);
  RawPeer peer = paused_peer();
  peer.reset();
  let_it_hear();
  paused_.run([](Connection& connection) { connection.report_drained(); });
  ASSERT_TRUE(noted("close: reset by the peer"));
  EXPECT_THAT(story(), ElementsAre("message 5", "close: reset by the peer"));
}

// Nothing more comes after a FIN, so nobody waits for it either.
TEST_P(PausedReset, ends_who_has_sent_fin) {
  if (GetParam() == "select" || GetParam() == "poll") GTEST_SKIP() << "it is not looked at any more behind the FIN";
  serve_pausing(std::chrono::hours(1));
  RawPeer peer = connect_peer();
  peer.send("all I have");
  peer.fin();
  ASSERT_TRUE(noted("end"));
  peer.reset();
  ASSERT_TRUE(wait_until([&] { return server_->connections() == 0; }));
  EXPECT_THAT(story(), ElementsAre("message 10", "close: reset by the peer"));
}

// A level-triggered poller would tell of the end for ever.
TEST_P(PausedReset, is_told_once) {
  serve_pausing(std::chrono::hours(1));
  RawPeer peer = paused_peer();
  peer.send("second");
  peer.reset();
  let_it_hear();
  const auto events = [&] { return loop().engine().stats().events; };
  constexpr uint64_t kQuestions = 50;  // each wakes the loop once
  const uint64_t before = ask(events);
  for (uint64_t i = 1; i < kQuestions; ++i) ask(events);
  EXPECT_LT(ask(events), before + kQuestions * 3 / 2);
}

PEAL_TEST_ON_EVERY_ENGINE(PausedReset);

class SimPausedReset : public test::SimTest {};

// Paused after each message, and resumed a second later: all that had arrived is shown, and then the end. Paused for
// good, it ends all the same.
TEST_F(SimPausedReset, ends_it_and_loses_nothing_that_is_wanted) {
  SimOptions options = rough();
  options.receive_buffer_bytes = 64 * 1024;
  on_seeds(300, options, [](test::SimPair& pair) {
    const bool resumes = pair.seed % 2 == 0;
    bool is_reset = false;
    size_t received = 0;
    CloseReason reason = CloseReason::kLocal;
    ConnectionHandle sender;
    const auto rest = [&](Connection& connection) {
      connection.pause();
      connection.loop().after(std::chrono::seconds(is_reset ? 1 : 40), [resumes, handle = connection.handle()] {
        if (resumes) handle.run([](Connection& paused) { paused.resume(); });
      });
    };
    Server server(*pair.here, {.on_open = rest,
                               .on_message =
                                   [&](Connection& connection, Buffer& input) {
                                     received += input.size();
                                     input.clear();
                                     rest(connection);
                                   },
                               .on_close = [&](Connection&, CloseReason why) { reason = why; }});
    const SocketAddress target = pair.listen(server);
    Client client(*pair.there, {.on_open = [&](Connection& connection) {
      sender = connection.handle();
      connection.send(std::string(50'000, 'x'));
    }});
    ASSERT_TRUE(client.connect(target));
    pair.run_for(std::chrono::seconds(38));  // all of it has arrived
    ASSERT_EQ(server.connections(), 1U);
    is_reset = sender.abort();
    ASSERT_TRUE(pair.run_until([&] { return server.connections() == 0; }, std::chrono::minutes(5)));
    EXPECT_EQ(received, resumes ? 50'000U : 0U);
    EXPECT_EQ(reason, CloseReason::kReset);
  });
}

}  // namespace
}  // namespace peal
