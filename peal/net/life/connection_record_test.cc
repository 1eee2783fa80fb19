// SPDX-License-Identifier: BSD-3-Clause
// The events that the flight recorder gets of a connection, and the log when the connection ends abnormally.
#include <gmock/gmock.h>

#include <peal/base/log.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ConnectionRecordTest : public test::NetTest {
 protected:
  void SetUp() override {
    test::NetTest::SetUp();
    if (IsSkipped()) return;
    set_log_sink([this](const LogRecord& record) {
      const std::lock_guard lock(mutex);
      log.emplace_back(record.text);
    });
    ask([&] { loop().enable_flight_recorder(1024); });
  }
  std::vector<std::string> logged() {
    const std::lock_guard lock(mutex);
    return log;
  }
  std::vector<FlightKind> kinds() {
    return ask([&] {
      std::vector<FlightKind> kinds;
      for (const FlightEvent& event : loop().flight_recorder()->last({}, 1024)) kinds.push_back(event.kind);
      return kinds;
    });
  }

  std::mutex mutex;
  std::vector<std::string> log;
};

TEST_P(ConnectionRecordTest, life_of_a_connection_is_recorded_and_a_good_end_is_not_told) {
  auto server = serve(test::echoing());
  RawPeer peer = connect_peer();
  peer.send("hello");
  ASSERT_TRUE(hears_all(peer, "hello"));
  peer.fin();
  ASSERT_TRUE(wait_until([&] { return !peer.pump() && server->connections() == 0; }));
  EXPECT_THAT(kinds(), ElementsAre(FlightKind::kOpened, FlightKind::kReceived, FlightKind::kSent,
                                   FlightKind::kPeerEnded, FlightKind::kClosing, FlightKind::kClosed));
  EXPECT_THAT(logged(), ElementsAre());
}

TEST_P(ConnectionRecordTest, reset_is_told_with_the_last_events_and_both_addresses) {
  std::string peer_seen;
  auto callbacks = test::echoing();
  callbacks.on_close = [&](Connection& connection, CloseReason reason) {
    EXPECT_EQ(reason, CloseReason::kReset);
    peer_seen = connection.peer_address().value_or(SocketAddress()).to_string();
  };
  auto server = serve(std::move(callbacks));
  RawPeer peer = connect_peer();
  peer.send("hello");
  ASSERT_TRUE(hears_all(peer, "hello"));
  peer.reset();
  ASSERT_TRUE(wait_until([&] { return server->connections() == 0; }));
  ASSERT_EQ(logged().size(), 1u);
  EXPECT_THAT(peer_seen, testing::StartsWith("127.0.0.1:"));
  EXPECT_THAT(logged()[0],
              HasSubstr(fmt::format("connection {} <- {} ended: reset by the peer", address().to_string(), peer_seen)));
  EXPECT_THAT(logged()[0], HasSubstr("received 5\n"));
}

TEST_P(ConnectionRecordTest, many_bad_ends_are_told_at_a_bounded_rate) {
  auto server = serve(test::echoing());
  for (int i = 0; i < 50; ++i) {
    RawPeer peer = connect_peer();
    ASSERT_TRUE(wait_until([&] { return server->connections() == 1; }));
    peer.reset();
    ASSERT_TRUE(wait_until([&] { return server->connections() == 0; }));
  }
  EXPECT_GE(logged().size(), 1u);
  EXPECT_LE(logged().size(), 12u);  // at most one each second, and the test gives up after ten
}

PEAL_TEST_ON_EVERY_PORT(ConnectionRecordTest);

}  // namespace
}  // namespace peal
