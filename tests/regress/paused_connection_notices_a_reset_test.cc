// SPDX-License-Identifier: BSD-3-Clause
// A connection that its owner had paused did not notice that its peer had reset it. It kept its fd, its context and its
// coroutine until somebody resumed it, which could be never. Now it ends at once if no input is left to show. Otherwise
// the owner has linger_timeout to resume it, and is then shown all that came before the reset. A client that sends FIN
// and leaves without waiting for its answer is the same case.
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include <tests/support/net_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

constexpr std::string_view kFirst = "first";  // the server pauses a connection that sends this

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
  // Returns a peer whose connection the server has paused.
  RawPeer paused_peer() {
    RawPeer peer = connect_peer();
    peer.send(kFirst);
    EXPECT_TRUE(noted("message 5"));
    return peer;
  }
  // Waits until the loop has learnt of everything that happened before: a second connection opens, sends a message and
  // ends.
  void let_it_hear() {
    RawPeer knocking = connect_peer();
    knocking.send("knock knock");
    ASSERT_TRUE(noted("message 11"));
    knocking.close();
    ASSERT_TRUE(noted("end"));
  }
  // Returns the lines of the journal about the paused connection, without its "open".
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

TEST_P(PausedReset, leaves_time_to_read_what_came_before_it) {
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

TEST_P(PausedReset, leaves_time_to_read_kept_input) {
  serve_pausing(std::chrono::hours(1), true);
  RawPeer peer = paused_peer();
  peer.reset();
  let_it_hear();
  EXPECT_THAT(story(), ElementsAre("message 5"));
  EXPECT_TRUE(paused_.run([](Connection& connection) { connection.resume(); }));
  ASSERT_TRUE(noted("close: reset by the peer"));
  EXPECT_THAT(story(), ElementsAre("message 5", "message 5", "close: reset by the peer"));
}

TEST_P(PausedReset, ends_it_after_linger_timeout_if_nobody_resumes_it) {
  if (GetParam() == "select") GTEST_SKIP() << "select(2) cannot tell a reset from the data before it";
  serve_pausing(std::chrono::milliseconds(20));
  RawPeer peer = paused_peer();
  peer.send("second");
  peer.reset();
  ASSERT_TRUE(wait_until([&] { return server_->connections() == 0; }));
  EXPECT_THAT(story(), ElementsAre("message 5", "close: reset by the peer"));
}

// report_drained() was answered by a completion that also showed the kept input again. This cancelled the timer that
// was to end the connection, so the connection stayed for ever.
TEST_P(PausedReset, ends_it_although_report_drained_was_called) {
  serve_pausing(std::chrono::milliseconds(20), true);
  RawPeer peer = paused_peer();
  peer.reset();
  let_it_hear();
  paused_.run([](Connection& connection) { connection.report_drained(); });
  ASSERT_TRUE(noted("close: reset by the peer"));
  EXPECT_THAT(story(), ElementsAre("message 5", "close: reset by the peer"));
}

// No input can follow a FIN, so the connection ends without waiting for anybody to read.
TEST_P(PausedReset, ends_a_connection_whose_peer_has_sent_fin) {
  if (GetParam() == "select" || GetParam() == "poll") GTEST_SKIP() << "this engine does not watch after the FIN";
  serve_pausing(std::chrono::hours(1));
  RawPeer peer = connect_peer();
  peer.send("all I have");
  peer.fin();
  ASSERT_TRUE(noted("end"));
  peer.reset();
  ASSERT_TRUE(wait_until([&] { return server_->connections() == 0; }));
  EXPECT_THAT(story(), ElementsAre("message 10", "close: reset by the peer"));
}

// A level-triggered poller would otherwise report the end again and again.
TEST_P(PausedReset, is_reported_once) {
  serve_pausing(std::chrono::hours(1));
  RawPeer peer = paused_peer();
  peer.send("second");
  peer.reset();
  let_it_hear();
  const auto events = [&] { return loop().engine().stats().events; };
  constexpr uint64_t kQuestions = 50;  // each question wakes the loop once
  const uint64_t before = ask(events);
  for (uint64_t i = 1; i < kQuestions; ++i) ask(events);
  EXPECT_LT(ask(events), before + kQuestions * 3 / 2);
}

PEAL_TEST_ON_EVERY_ENGINE(PausedReset);

class SimPausedReset : public test::SimTest {};

// The server pauses the connection after each message. If it resumes the connection later, it is shown all that had
// arrived, and then the end. If it never resumes the connection, the connection ends nevertheless.
TEST_F(SimPausedReset, ends_it_and_loses_no_input_that_is_still_read) {
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
    pair.run_for(std::chrono::seconds(38));  // by now everything has arrived
    ASSERT_EQ(server.connections(), 1U);
    is_reset = sender.abort();
    ASSERT_TRUE(pair.run_until([&] { return server.connections() == 0; }, std::chrono::minutes(5)));
    EXPECT_EQ(received, resumes ? 50'000U : 0U);
    EXPECT_EQ(reason, CloseReason::kReset);
  });
}

}  // namespace
}  // namespace peal
