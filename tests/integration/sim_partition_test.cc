// SPDX-License-Identifier: BSD-3-Clause
// Tests of simulated links that have faults of their own or are cut: which side receives what, and when. The simulation
// must do what tcp(7) and RFC 9293 say.
#include <tests/integration/sim_partition.h>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/net/datagram_socket.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

using test::kHere;
using test::kThere;
using test::SimPartition;

TEST_F(SimPartition, machine_connects_from_its_own_address) {
  connect();
  SocketAddress peer;
  here.handle.run([&](Connection& connection) { peer = connection.peer_address().value(); });
  world.run_for(seconds(1));
  EXPECT_TRUE(peer.to_string().starts_with(kThere + ":")) << peer.to_string();
}

TEST_F(SimPartition, short_partition_loses_no_byte_and_keeps_the_order) {
  connect();
  speak(seconds(1));
  EXPECT_FALSE(here.received.empty());
  world.partition({kHere}, {kThere});
  const size_t before = here.received.size();
  speak(seconds(20));
  EXPECT_EQ(here.received.size(), before);
  world.heal();
  speak(seconds(1));
  // Waits up to a minute, because lost packets arrive only with their next retransmission.
  ASSERT_TRUE(world.run_until([this] { return here.received.size() == said.size(); }, minutes(1)));
  EXPECT_EQ(here.received, said);
  here.handle.send("heard");
  ASSERT_TRUE(world.run_until([this] { return there.received == "heard"; }));
  EXPECT_FALSE(here.closed || there.closed);
}

TEST_F(SimPartition, who_waits_for_an_acknowledgement_gives_up_and_the_other_end_learns_it_when_it_speaks) {
  connect();
  world.partition({kHere}, {kThere});
  const TimePoint begin = world.now();
  speak(seconds(1));
  ASSERT_TRUE(world.run_until([this] { return there.closed; }));
  EXPECT_EQ(there.reason, CloseReason::kFailed);
  EXPECT_EQ(there.error, std::errc::timed_out);
  EXPECT_GE(world.now() - begin, SimOptions().give_up);
  EXPECT_LT(world.now() - begin, SimOptions().give_up + seconds(2));
  world.heal();
  world.run_for(hours(1));
  EXPECT_FALSE(here.closed);
  EXPECT_EQ(here.received, "");
  here.handle.send("are you there?");
  ASSERT_TRUE(world.run_until([this] { return here.closed; }));
  EXPECT_EQ(here.reason, CloseReason::kReset);
}

TEST_F(SimPartition, lost_acknowledgements_end_the_sender_of_what_arrived) {
  connect();
  world.cut(kHere, kThere);
  ASSERT_TRUE(there.handle.send("one way"));
  world.run_for(seconds(1));
  EXPECT_EQ(here.received, "one way");
  ASSERT_TRUE(world.run_until([this] { return there.closed; }));
  EXPECT_EQ(there.error, std::errc::timed_out);
  EXPECT_FALSE(here.closed);
}

TEST_F(SimPartition, acknowledgements_that_were_lost_come_after_the_cut) {
  connect();
  world.cut(kHere, kThere);
  const std::string much(1'000'000, 'x');
  ASSERT_TRUE(there.handle.send(much));
  world.run_for(minutes(1));
  const size_t before = here.received.size();
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, much.size());
  world.heal(kHere, kThere);
  ASSERT_TRUE(world.run_until([&] { return here.received == much; }, minutes(5)));
  world.run_for(hours(1));
  EXPECT_FALSE(here.closed || there.closed);
}

TEST_F(SimPartition, idle_connection_outlives_any_partition) {
  connect();
  world.partition({kThere}, {kHere});
  world.run_for(hours(24));
  EXPECT_FALSE(here.closed || there.closed);
  world.heal();
  there.handle.send("still here");
  ASSERT_TRUE(world.run_until([this] { return here.received == "still here"; }));
}

TEST_F(SimPartition, end_of_a_connection_is_told_after_the_partition) {
  connect();
  world.cut(kThere, kHere);
  there.handle.send("the end");
  there.handle.close();
  world.run_for(seconds(30));
  EXPECT_EQ(here.received, "");
  world.heal();
  ASSERT_TRUE(world.run_until([this] { return here.closed && there.closed; }));
  EXPECT_EQ(here.received, "the end");
  EXPECT_EQ(here.reason, CloseReason::kPeerClosed);
}

TEST_F(SimPartition, reset_that_is_lost_is_met_by_what_is_sent_later) {
  connect();
  world.cut(kThere, kHere);
  there.handle.abort();
  world.run_for(minutes(1));
  world.heal();
  world.run_for(minutes(1));
  EXPECT_FALSE(here.closed);
  here.handle.send("hello?");
  ASSERT_TRUE(world.run_until([this] { return here.closed; }));
  EXPECT_EQ(here.reason, CloseReason::kReset);
}

TEST_F(SimPartition, connecting_is_tried_again_until_the_way_is_open) {
  world.cut(kHere, kThere);  // the server's answers are lost
  const TimePoint begin = world.now();
  world.after(seconds(5), [this] { world.heal(); });
  connect();
  EXPECT_GE(world.now() - begin, seconds(7));  // the SYN is sent again after 1, 3 and 7 s
  EXPECT_LT(world.now() - begin, seconds(8));
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(SimPartition, connecting_gives_up) {
  world.partition({kHere}, {kThere});
  const TimePoint begin = world.now();
  ASSERT_TRUE(client.connect(server.listen(kHere + ":0").value()));
  ASSERT_TRUE(world.run_until([this] { return bool(refused); }));
  EXPECT_EQ(refused, std::errc::timed_out);
  EXPECT_EQ(world.now() - begin, SimOptions().connect_give_up);
}

TEST_F(SimPartition, only_what_is_cut_is_cut) {
  world.partition({"10.0.0.3", "10.0.0.4"}, {kHere, kThere});
  connect();
  speak(seconds(1));
  world.run_for(seconds(1));
  EXPECT_EQ(here.received, said);
}

TEST_F(SimPartition, each_direction_has_its_own_faults_and_delay) {
  world.link(kThere, kHere).latency = milliseconds(100);
  world.link(kHere, kThere).latency = milliseconds(10);
  connect();
  TimePoint begin = world.now();
  there.handle.send("x");
  ASSERT_TRUE(world.run_until([this] { return !here.received.empty(); }));
  EXPECT_EQ(world.now() - begin, milliseconds(100));
  begin = world.now();
  here.handle.send("y");
  ASSERT_TRUE(world.run_until([this] { return !there.received.empty(); }));
  EXPECT_EQ(world.now() - begin, milliseconds(10));
  world.link(kHere, kThere).reset = 1;
  there.handle.send("x");
  world.run_for(seconds(1));
  EXPECT_FALSE(here.closed);
  here.handle.send("y");
  ASSERT_TRUE(world.run_until([this] { return here.closed && there.closed; }));
  EXPECT_EQ(there.reason, CloseReason::kReset);
}

TEST_F(SimPartition, datagrams_are_lost_while_their_way_is_cut) {
  std::vector<std::string> arrived;
  DatagramCallbacks noting_them;
  noting_them.on_datagram = [&](DatagramSocket&, const SocketAddress& from, Buffer& bytes) {
    EXPECT_TRUE(from.to_string().starts_with(kThere + ":")) << from.to_string();
    arrived.push_back(bytes.to_string());
  };
  DatagramSocket receiver(*loop_here, std::move(noting_them));
  DatagramSocket sender(*loop_there, {});
  SocketAddress at;
  loop_here->post([&] { at = receiver.open(kHere + ":0").value(); });
  loop_there->post([&] { EXPECT_TRUE(sender.open("0.0.0.0:0")); });
  world.run_for(seconds(1));
  auto send = [&](const std::string& text) {
    loop_there->post([&sender, at, text] { (void)sender.send_to(at, text); });
    world.run_for(seconds(1));
  };
  send("1");
  world.cut(kThere, kHere);
  send("2");
  world.heal();
  send("3");
  EXPECT_EQ(arrived, (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(world.stats().datagrams_lost, 1u);
}

TEST_F(SimPartition, what_is_no_address_is_refused) {
  EXPECT_THROW(world.cut("server", kHere), std::invalid_argument);
  EXPECT_THROW(world.link(kHere, "10.0.0.1:80"), std::invalid_argument);
  EXPECT_THROW(SimMachine(world, ""), std::invalid_argument);
  EXPECT_NO_THROW(world.cut("::1", "fe80::1"));
}

}  // namespace
}  // namespace peal
