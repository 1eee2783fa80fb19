// SPDX-License-Identifier: BSD-3-Clause
// Tests in which the link between two simulated machines is cut, a machine crashes, and the network has faults. They
// check what happens to a connection if these come together.
#include <string>

#include <gtest/gtest.h>

#include <tests/integration/sim_partition.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test::kHere;
using test::kThere;

class SimBrokenWay : public test::SimPartition {};

TEST_F(SimBrokenWay, nothing_arrives_that_was_sent_after_what_got_lost_with_its_sender) {
  for (const bool crashes : {true, false}) {
    SCOPED_TRACE(crashes ? "a crash" : "a reset");
    SimWorld way(1, {.latency = milliseconds(50)});
    SimMachine reader(way, kHere);
    SimMachine writer(way, kThere);
    SimLoop loop_of_reader(reader);
    SimLoop loop_of_writer(writer);
    End read;
    End written;
    Server takes(*loop_of_reader, noting(read));
    Client gives(*loop_of_writer, noting(written));
    ASSERT_TRUE(gives.connect(takes.listen(kHere + ":0").value()));
    ASSERT_TRUE(way.run_until([&] { return read.open && written.open; }));
    written.handle.send("first.");
    way.run_for(milliseconds(10));
    written.handle.send("second.");
    way.run_for(milliseconds(1));
    if (crashes) {
      writer.crash();
    } else {
      written.handle.abort();
    }
    way.run_for(milliseconds(34));
    way.partition({kHere}, {kThere});
    way.run_for(milliseconds(10));  // without the cut, "first." would arrive now
    way.heal();
    way.run_for(minutes(1));
    EXPECT_EQ(read.received, "");
  }
}

TEST_F(SimBrokenWay, sender_without_room_learns_of_a_crash_and_of_a_cut_that_lasts) {
  connect();
  here.handle.run([](Connection& connection) { connection.pause(); });
  world.run_for(seconds(1));
  there.handle.send(std::string(1'000'000, 'x'));
  world.run_for(hours(1));
  EXPECT_FALSE(there.closed);
  const TimePoint begin = world.now();
  world.partition({kHere}, {kThere});
  world.run_for(minutes(5));
  world.heal();  // the sender has not given up yet; its time limit begins again
  world.run_for(minutes(5));
  EXPECT_FALSE(there.closed);
  machine_here.crash();
  world.run_for(minutes(5));
  EXPECT_FALSE(there.closed);
  machine_here.restart();
  ASSERT_TRUE(world.run_until([this] { return there.closed; }, minutes(3)));
  EXPECT_EQ(there.reason, CloseReason::kReset);
  EXPECT_LT(world.now() - begin, minutes(18));
}

TEST_F(SimBrokenWay, sender_without_room_gives_up_when_a_cut_lasts) {
  connect();
  here.handle.run([](Connection& connection) { connection.pause(); });
  world.run_for(seconds(1));
  there.handle.send(std::string(1'000'000, 'x'));
  world.run_for(seconds(5));
  world.cut(kHere, kThere);
  const TimePoint begin = world.now();
  ASSERT_TRUE(world.run_until([this] { return there.closed; }));
  EXPECT_EQ(there.error, std::errc::timed_out);
  EXPECT_EQ(world.now() - begin, SimOptions().give_up);
}

TEST_F(SimBrokenWay, patience_begins_anew_with_what_is_heard) {
  world.options().give_up = seconds(10);
  connect();
  world.cut(kHere, kThere);
  there.handle.send("one.");
  world.run_for(seconds(5));
  world.heal();
  world.run_for(milliseconds(100));
  there.handle.send("two.");  // is acknowledged within 100 ms
  world.run_for(milliseconds(100));
  world.cut(kThere, kHere);
  const TimePoint begin = world.now();
  there.handle.send("three.");
  ASSERT_TRUE(world.run_until([this] { return there.closed; }));
  EXPECT_EQ(here.received, "one.two.");
  EXPECT_GE(world.now() - begin, seconds(10));
  EXPECT_LT(world.now() - begin, seconds(10) + milliseconds(1));
}

TEST_F(SimBrokenWay, no_fault_of_the_network_passes_a_cut_or_speaks_for_a_machine_without_power) {
  connect();
  world.partition({kHere}, {kThere});
  world.options().reset = world.options().refuse = 1;
  there.handle.send("x");
  world.run_for(minutes(1));
  EXPECT_FALSE(here.closed || there.closed);
  world.heal();
  machine_here.crash();
  Client other(*loop_there, {}, ClientOptions{.connect_timeout = minutes(10)},
               [this](std::error_code error, Duration) { refused = error; });
  ASSERT_TRUE(other.connect(machine_here.address(80)));
  ASSERT_TRUE(world.run_until([this] { return bool(refused); }));
  EXPECT_EQ(refused, std::errc::timed_out);
  EXPECT_EQ(world.stats().resets + world.stats().connects_failed, 0u);
}

TEST_F(SimBrokenWay, machine_connects_from_no_address_but_its_own) {
  const SocketAddress at = server.listen(kHere + ":0").value();
  auto outcome_from = [&](const char* source) {
    ClientOptions options{.connect_timeout = seconds(20)};
    options.connect.source = SocketAddress::parse(source).value();
    here = there = {};
    refused.clear();
    Client other(*loop_there, noting(there), options, [this](std::error_code error, Duration) { refused = error; });
    EXPECT_TRUE(other.connect(at));
    EXPECT_TRUE(world.run_until([this] { return refused || (here.open && there.open); }));
    return refused;
  };
  EXPECT_FALSE(outcome_from("0.0.0.0:5000"));
  SocketAddress peer;
  here.handle.run([&](Connection& connection) { peer = connection.peer_address().value(); });
  world.run_for(seconds(1));
  EXPECT_EQ(peer.to_string(), kThere + ":5000");
  EXPECT_EQ(outcome_from("10.0.0.9:5000"), std::errc::address_not_available);
  EXPECT_EQ(outcome_from("127.0.0.1:5000"), std::errc::invalid_argument);
  world.partition({kHere}, {kThere});
  EXPECT_EQ(outcome_from("0.0.0.0:5000"), std::errc::timed_out);
}

TEST_F(SimBrokenWay, what_concerns_a_machine_alone_is_the_worlds) {
  SimOptions& way = world.link(kThere, kHere);
  way.short_read = way.short_write = way.late = way.no_fd = 1;
  world.link(kHere, kThere) = way;
  connect();
  speak(seconds(1));
  world.run_for(seconds(1));
  EXPECT_EQ(here.received, said);
  const SimStats& stats = world.stats();
  EXPECT_EQ(stats.short_reads + stats.short_writes + stats.late + stats.no_fd, 0u);
}

TEST_F(SimBrokenWay, trace_tells_of_cuts_and_of_the_machines_power) {
  world.cut(kHere, kThere);
  world.heal(kHere, kThere);
  world.heal();
  machine_here.crash();
  machine_here.restart();
  const std::string tail = world.trace_tail(5);
  for (const char* line : {"cut 10.0.0.1 -> 10.0.0.2\n", "healed 10.0.0.1 -> 10.0.0.2\n", "healed all\n",
                           "crashes 10.0.0.1\n", "has power 10.0.0.1\n"}) {
    EXPECT_NE(tail.find(line), std::string::npos) << line << tail;
  }
}

}  // namespace
}  // namespace peal
