// SPDX-License-Identifier: BSD-3-Clause
// Tests of simulate() with programs whose mistake only certain faults reveal. simulate() is expected to name exactly
// these faults.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <peal/net/client.h>
#include <peal/net/datagram_socket.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_machine.h>
#include <peal/sim/simulate.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SimShrink : public test::SimTest {};

// A client that asks ten questions, one after the other, and connects again when the connection is lost. Its mistake:
// it gives up after `patience` losses.
void ask_and_lose_patience(SimWorld& world, int patience) {
  SimLoop server_loop(world);
  SimLoop client_loop(world);
  ConnectionCallbacks echoing;
  echoing.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); };
  Server server(*server_loop, std::move(echoing));
  const SimOptions faults = std::exchange(world.options(), {});
  const SocketAddress at = server.listen("10.0.0.1:0").value();
  world.options() = faults;
  int answers = 0;
  int lost = 0;
  ConnectionCallbacks asking;
  asking.on_open = [](Connection& connection) { connection.send("?"); };
  asking.on_message = [&](Connection& connection, Buffer& input) {
    input.clear();
    if (++answers == 10) return connection.close();
    connection.send("?");
  };
  asking.on_close = [&](Connection&, CloseReason) {
    world.expect(answers >= 10 || ++lost < patience, "the client gave up");
  };
  Client client(*client_loop, std::move(asking), ClientOptions{.retry = {.reconnect = true}});
  world.expect(client.connect(at).has_value(), "the client cannot begin to connect");
  world.expect(world.run_until([&] { return answers >= 10; }), "the client hangs");
  client.stop();
}

SimOptions resets_among_much_else() {
  SimOptions options;
  options.reset = 0.1;
  options.short_read = options.short_write = options.interrupted = options.again = options.late = 0.3;
  options.jitter = milliseconds(1);
  return options;
}

TEST_F(SimShrink, client_that_bears_one_reset_is_shown_the_two_that_it_does_not) {
  const SimReport report =
      simulate_seeds(1, 500, resets_among_much_else(), [](SimWorld& world) { ask_and_lose_patience(world, 2); });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.why, "the client gave up");
  EXPECT_GT(report.struck, 20u);
  ASSERT_EQ(report.faults.size(), 2u) << report.text();
  for (const SimFault& fault : report.faults) EXPECT_EQ(fault.kind, SimFaultKind::kReset) << report.text();
  EXPECT_TRUE(report.fewest);
  EXPECT_LE(report.runs - report.seeds, kMostSearchRuns);
  EXPECT_NE(report.text().find("reset of 10.0.0.1:"), std::string::npos) << report.text();
  EXPECT_NE(report.trace.find("meets a reset"), std::string::npos);
}

TEST_F(SimShrink, same_seed_is_reported_the_same_twice) {
  auto once = [] {
    return simulate_seeds(1, 500, resets_among_much_else(), [](SimWorld& world) { ask_and_lose_patience(world, 1); });
  };
  const SimReport report = once();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.faults.size(), 1u);
  EXPECT_EQ(report.text(), once().text());
}

// When simulate() searches for the fewest faults, it leaves out short writes, and then there are fewer packets. If it
// knew a reset only by the number of its packet, the reset would now come at another time, or never. The test expects
// the reset at the same place as before.
TEST_F(SimShrink, reset_is_found_among_short_writes_that_decide_how_many_packets_there_are) {
  SimOptions options;
  options.short_write = 0.4;
  options.reset = 0.0015;
  int failed = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const SimReport report = simulate(seed, options, [](SimWorld& world) {
      bool lost = false;
      SimLoop server_loop(world);
      SimLoop client_loop(world);
      Server server(*server_loop,
                    {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }});
      ConnectionHandle asker;
      Client client(*client_loop, {.on_open = [&asker](Connection& connection) { asker = connection.handle(); },
                                   .on_close = [&lost](Connection&, CloseReason) { lost = true; }});
      if (!client.connect(server.listen("10.0.0.1:0").value())) return false;
      client_loop->every(milliseconds(200), [&] { asker.send("hello, who is there?\n"); });
      world.run_for(seconds(60));
      world.options() = {};
      world.run_for(seconds(60));
      return !lost;
    });
    if (report) continue;
    ++failed;
    ASSERT_EQ(report.faults.size(), 1U) << report.text();
    EXPECT_EQ(report.faults.front().kind, SimFaultKind::kReset);
  }
  EXPECT_GT(failed, 5);
}

// The receiver only counts datagrams. So it does not notice if one is lost and another one arrives twice. simulate() is
// expected to name these two faults.
TEST_F(SimShrink, protocol_that_counts_datagrams_is_shown_the_lost_one_and_the_doubled_one) {
  SimOptions options;
  options.lose_datagram = options.double_datagram = options.overtaken_datagram = 0.15;
  const SimReport report = simulate_seeds(1, 100, options, [](SimWorld& world) {
    SimLoop loop(world);
    int count = 0;
    std::set<std::string> numbers;
    DatagramCallbacks counting;
    counting.on_datagram = [&](DatagramSocket&, const SocketAddress&, Buffer& bytes) {
      ++count;
      numbers.insert(bytes.to_string());
    };
    DatagramSocket receiver(*loop, std::move(counting));
    DatagramSocket sender(*loop, {});
    loop->post([&] {
      const SocketAddress at = receiver.open("10.0.0.1:0").value();
      world.expect(sender.open("10.0.0.2:0").has_value(), "the sender cannot be opened");
      for (int i = 0; i < 20; ++i) (void)sender.send_to(at, std::to_string(i));
    });
    world.run_for(seconds(1));
    return count != 20 || numbers.size() == 20;
  });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.why, "the body answered false");
  ASSERT_EQ(report.faults.size(), 2u) << report.text();
  auto struck = [&](SimFaultKind kind) { return std::ranges::count(report.faults, kind, &SimFault::kind); };
  EXPECT_EQ(struck(SimFaultKind::kLoseDatagram), 1);
  EXPECT_EQ(struck(SimFaultKind::kDoubleDatagram), 1);
}

TEST_F(SimShrink, search_ends_at_its_limit_and_says_so) {
  const SimReport report =
      simulate_seeds(1, 500, resets_among_much_else(), [](SimWorld& world) { ask_and_lose_patience(world, 2); }, 4);
  ASSERT_FALSE(report);
  EXPECT_FALSE(report.fewest);
  EXPECT_LE(report.runs - report.seeds, 5u);
  EXPECT_NE(report.text().find("the search was ended"), std::string::npos);
}

TEST_F(SimShrink, torn_file_is_not_blamed_on_what_happened_to_another) {
  int failed = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const SimReport report = simulate(seed, {}, [](SimWorld& world) {
      SimMachine machine(world, "10.0.0.1");
      (void)machine.disk().write("a", "aaaaaaaa");
      (void)machine.disk().write("b", "bbbbbbbb");
      machine.crash();
      machine.restart();
      const std::string found = machine.disk().read("b").value();
      return found.empty() || found.size() == 8;
    });
    if (report) continue;
    ++failed;
    ASSERT_EQ(report.faults.size(), 1u) << report.text();
    EXPECT_EQ(report.faults.front().kind, SimFaultKind::kTearUnsynced);
  }
  EXPECT_GT(failed, 5);
}

}  // namespace
}  // namespace peal
