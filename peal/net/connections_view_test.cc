// SPDX-License-Identifier: BSD-3-Clause
// The connections of a server as an observer on another thread sees them.
#include <peal/net/connections_view.h>

#include <atomic>

#include <gmock/gmock.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ConnectionsViewTest : public test::NetTest {
 protected:
  std::vector<ConnectionFacts> list(const ConnectionsView& view, size_t most = 100) {
    return ask([&] { return view.list(most); });
  }
};

TEST_P(ConnectionsViewTest, facts_of_a_connection_that_echoed) {
  auto server = serve(test::echoing());
  const ConnectionsView view = server->views().at(0);
  RawPeer peer = connect_peer();
  peer.send("hello");
  ASSERT_TRUE(hears_all(peer, "hello"));
  const auto facts = list(view);
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(facts[0].state, "open");
  EXPECT_EQ(facts[0].received_bytes, 5u);
  EXPECT_EQ(facts[0].sent_bytes, 5u);
  EXPECT_EQ(facts[0].queued_bytes, 0u);
  EXPECT_EQ(facts[0].local, address());
  EXPECT_TRUE(facts[0].peer.is_ip());
  EXPECT_GE(facts[0].age, Duration::zero());
  EXPECT_LT(facts[0].age, std::chrono::minutes(1));
  ASSERT_TRUE(facts[0].tcp);
  EXPECT_GT(facts[0].tcp->segment_bytes, 0u);
  EXPECT_GT(facts[0].tcp->congestion_window, 0u);
  EXPECT_GT(facts[0].tcp->round_trip, Duration::zero());
  EXPECT_EQ(view.count(), 1u);
  EXPECT_EQ(ask([&] { return view.stats().opened; }), 1u);
}

TEST_P(ConnectionsViewTest, unconsumed_input_and_a_pause_are_seen) {
  ConnectionCallbacks callbacks;
  callbacks.on_message = [](Connection& connection, Buffer&) { connection.pause(); };
  auto server = serve(std::move(callbacks));
  RawPeer peer = connect_peer();
  peer.send("half a message");
  const ConnectionsView view = server->views().at(0);
  ASSERT_TRUE(wait_until([&] { return view.list(1).size() == 1 && view.list(1)[0].kept_bytes == 14; }));
  EXPECT_TRUE(list(view)[0].paused);
}

TEST_P(ConnectionsViewTest, a_query_sorts_and_filters) {
  auto server = serve(test::echoing());
  const ConnectionsView view = server->views().at(0);
  std::vector<RawPeer> peers;
  for (const char* text : {"four", "sixsix", "ee"}) {
    peers.push_back(connect_peer());
    peers.back().send(text);
    ASSERT_TRUE(hears_all(peers.back(), text));
  }
  const auto received = [&](const ConnectionQuery& query) {
    std::vector<uint64_t> sizes;
    const ConnectionList found = ask([&] { return view.list(query); });
    for (const ConnectionFacts& facts : found.facts) sizes.push_back(facts.received_bytes);
    return std::pair(found.matched, sizes);
  };
  using enum ConnectionSort;
  EXPECT_EQ(received({.sort = kReceived}), std::pair(size_t{3}, std::vector<uint64_t>{6, 4, 2}));
  EXPECT_EQ(received({.sort = kSent, .ascending = true}), std::pair(size_t{3}, std::vector<uint64_t>{2, 4, 6}));
  EXPECT_EQ(received({.sort = kReceived, .most = 1}), std::pair(size_t{3}, std::vector<uint64_t>{6}));
  EXPECT_EQ(received({.sort = kAge, .most = 0}).first, 3u);
  EXPECT_EQ(received({.sort = kKept, .state = "open"}).first, 3u);
  EXPECT_EQ(received({.state = "paused"}).first, 0u);
  const std::string peer = ask([&] { return view.list({.sort = kReceived}); }).facts.at(0).peer.to_string();
  EXPECT_EQ(received({.search = peer}), std::pair(size_t{1}, std::vector<uint64_t>{6}));
  EXPECT_EQ(received({.search = "nowhere"}).first, 0u);
}

TEST_P(ConnectionsViewTest, of_many_those_with_most_queued_come_first) {
  ConnectionCallbacks callbacks;
  callbacks.on_message = [](Connection& connection, Buffer& input) {
    const size_t megabytes = static_cast<size_t>(input.view()[0] - '0');
    input.clear();
    connection.send(std::string(megabytes * 1024 * 1024, 'x'));
  };
  auto server = serve(std::move(callbacks));
  std::vector<RawPeer> peers;
  for (const char* megabytes : {"0", "9", "0", "3"}) {
    peers.push_back(connect_peer(4096));
    peers.back().send(megabytes);
  }
  const ConnectionsView view = server->views().at(0);
  ASSERT_TRUE(wait_until([&] { return view.list(2).size() == 2 && view.list(2)[1].queued_bytes > 0; }));
  const auto facts = list(view, 2);
  EXPECT_GT(facts[0].queued_bytes, facts[1].queued_bytes);
  EXPECT_TRUE(facts[0].above_high_water);
  EXPECT_TRUE(wait_until([&] { return view.list(1)[0].unacknowledged_bytes > 0; }));
  EXPECT_EQ(view.count(), 4u);
}

TEST_P(ConnectionsViewTest, one_is_aborted_and_another_drained) {
  auto server = serve(journal.callbacks());
  RawPeer first = connect_peer();
  RawPeer second = connect_peer();
  ASSERT_TRUE(noted("open", 2));
  const ConnectionsView view = server->views().at(0);
  const auto facts = list(view);
  EXPECT_TRUE(ask([&] { return view.end(facts[0].slot, facts[0].generation, EndHow::kAbort); }));
  EXPECT_TRUE(ask([&] { return view.end(facts[1].slot, facts[1].generation, EndHow::kDrain); }));
  ASSERT_TRUE(wait_until([&] { return !first.pump() && !second.pump(); }));
  EXPECT_NE(first.error() == 0, second.error() == 0) << "one was reset, the other heard FIN";
  ask([&] { (first.error() == 0 ? first : second).fin(); });
  ASSERT_TRUE(wait_until([&] { return server->connections() == 0; }));
  EXPECT_EQ(journal.count("close: aborted here"), 1u);
  EXPECT_EQ(journal.count("close: closed here"), 1u);
  EXPECT_FALSE(ask([&] { return view.end(facts[0].slot, facts[0].generation, EndHow::kAbort); }));
  EXPECT_FALSE(ask([&] { return view.find(facts[0].slot, facts[0].generation).has_value(); }));
}

TEST_P(ConnectionsViewTest, flight_recorder_is_read_after_the_end_too) {
  ask([&] { loop().enable_flight_recorder(64); });
  auto server = serve(test::echoing());
  RawPeer peer = connect_peer();
  peer.send("hello");
  ASSERT_TRUE(hears_all(peer, "hello"));
  const ConnectionsView view = server->views().at(0);
  const ConnectionFacts facts = list(view).at(0);
  peer.fin();
  ASSERT_TRUE(wait_until([&] { return !peer.pump() && server->connections() == 0; }));
  std::vector<FlightKind> kinds;
  for (const FlightEvent& event : ask([&] { return view.flight(facts.slot, facts.generation, 100); })) {
    kinds.push_back(event.kind);
  }
  EXPECT_THAT(kinds, ElementsAre(FlightKind::kOpened, FlightKind::kReceived, FlightKind::kSent, FlightKind::kPeerEnded,
                                 FlightKind::kClosing, FlightKind::kClosed));
}

TEST_P(ConnectionsViewTest, view_outlives_its_server_and_shows_nothing) {
  auto server = serve(test::echoing());
  const ConnectionsView view = server->views().at(0);
  RawPeer peer = connect_peer();
  ASSERT_TRUE(wait_until([&] { return server->connections() == 1; }));
  server.reset();
  ASSERT_TRUE(ends(peer));
  EXPECT_THAT(list(view), IsEmpty());
  EXPECT_EQ(view.count(), 0u);
}

class CountedLayer final : public StreamLayer {
 public:
  std::unique_ptr<StreamPort> over(Engine& engine) const noexcept override { return sealed_.over(engine); }
  LayerStats stats() const override { return {.handshakes = ++asked_}; }
  uint64_t asked() const { return asked_; }

 private:
  const test::SealedLayer sealed_;
  mutable std::atomic<uint64_t> asked_ = 0;
};

TEST_P(ConnectionsViewTest, layer_is_told_of_as_long_as_its_server_is_there) {
  auto plain = serve(test::echoing());
  EXPECT_FALSE(ask([&] { return plain->views().at(0).layer_stats().has_value(); }));
  CountedLayer layer;
  auto server = serve(test::echoing(), {.connection = {.layer = &layer}});
  const ConnectionsView view = server->views().at(0);
  EXPECT_EQ(ask([&] { return view.layer_stats().value_or(LayerStats{}).handshakes; }), 1u);
  EXPECT_EQ(ask([&] { return view.layer_stats().value_or(LayerStats{}).handshakes; }), 2u);
  server.reset();
  EXPECT_FALSE(ask([&] { return view.layer_stats().has_value(); }));
  EXPECT_EQ(layer.asked(), 2u) << "it may be gone";
}

PEAL_TEST_ON_EVERY_PORT(ConnectionsViewTest);

}  // namespace
}  // namespace peal
