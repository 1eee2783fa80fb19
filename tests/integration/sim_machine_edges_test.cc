// SPDX-License-Identifier: BSD-3-Clause
// Tests of simulated machines that crash at unusual moments: in a handshake, while they boot, or without ever coming
// back. The clocks of some machines are far off.
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <peal/net/client.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_machine.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint16_t kPlainPort = 9000;  // a port in the simulated network

struct PlainService {
  explicit PlainService(SimMachine& machine) : loop(machine) {
    EXPECT_TRUE(server.listen(machine.address(kPlainPort)));
  }
  SimLoop loop;
  Server server{*loop, ConnectionCallbacks{}};
};

SimMachine::Program plain_service(SimMachine& machine) { return std::make_shared<PlainService>(machine); }

class SimMachineEdges : public test::SimTest {};

TEST_F(SimMachineEdges, crash_in_a_handshake_leaves_the_client_with_a_half_open_connection) {
  SimWorld world(1, {.latency = milliseconds(50)});
  SimMachine server(world, "10.0.0.1", plain_service);
  SimMachine client(world, "10.0.0.2");
  SimLoop loop(client);
  bool open = false;
  CloseReason why = CloseReason::kLocal;
  bool closed = false;
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&](Connection& connection) {
    open = true;
    connection.send("+\n");
  };
  callbacks.on_close = [&](Connection&, CloseReason reason) {
    closed = true;
    why = reason;
  };
  Client connecting(*loop, std::move(callbacks));
  ASSERT_TRUE(connecting.connect(server.address(kPlainPort)));
  world.after(milliseconds(70), [&] { server.crash(); });  // the server's SYN-ACK is in transit
  world.run_for(seconds(10));
  EXPECT_TRUE(open);
  EXPECT_FALSE(closed);
  server.restart();
  ASSERT_TRUE(world.run_until([&] { return closed; }, seconds(30)));
  EXPECT_EQ(why, CloseReason::kReset);
}

TEST_F(SimMachineEdges, answer_that_a_machine_did_not_live_to_repeat_never_comes) {
  for (const bool returns : {false, true}) {
    SimWorld world(1, {.latency = milliseconds(50)});
    SimMachine server(world, "10.0.0.1", plain_service);
    SimMachine client(world, "10.0.0.2");
    SimLoop loop(client);
    std::error_code error;
    Client connecting(*loop, {}, {.connect_timeout = minutes(10)}, [&](std::error_code e, Duration) { error = e; });
    ASSERT_TRUE(connecting.connect(server.address(kPlainPort)));
    world.run_for(milliseconds(70));
    world.cut("10.0.0.1", "10.0.0.2");
    server.crash();
    world.run_for(seconds(1));
    world.heal();
    if (returns) server.restart();
    ASSERT_TRUE(world.run_until([&] { return bool(error); }));
    EXPECT_EQ(error, returns ? std::errc::connection_refused : std::errc::timed_out);
  }
}

TEST_F(SimMachineEdges, clock_may_be_far_behind_and_is_refused_when_it_is_too_far) {
  SimWorld world(1);
  SimMachine machine(world, "10.0.0.1");
  machine.set_clock({.ahead = -hours(24 * 365), .rate = 1000});
  machine.crash();
  machine.restart();
  SimLoop loop(machine);
  bool fired = false;
  loop->after(seconds(1000), [&] { fired = true; });
  world.run_for(seconds(2));
  EXPECT_TRUE(fired);
  EXPECT_THROW(machine.set_clock({.ahead = -hours(24 * 365 * 6)}), std::invalid_argument);
  EXPECT_THROW(machine.set_clock({.ahead = hours(24 * 365 * 6)}), std::invalid_argument);
  EXPECT_THROW(machine.set_clock({.rate = 1e300}), std::invalid_argument);
}

TEST_F(SimMachineEdges, machine_that_crashes_in_its_boot_does_so_after_it) {
  SimWorld world(1);
  int boots = 0;
  std::weak_ptr<SimLoop> made;
  SimMachine machine(world, "10.0.0.1", [&](SimMachine& booting) {
    if (++boots == 1) booting.crash();
    EXPECT_TRUE(booting.disk().append("boots", "."));
    EXPECT_TRUE(booting.disk().sync("boots"));
    auto loop = std::make_shared<SimLoop>(booting);
    made = loop;
    return loop;
  });
  EXPECT_FALSE(machine.is_on());
  EXPECT_TRUE(made.expired());
  EXPECT_EQ(machine.disk().append("boots", "!").error(), std::errc::io_error);
  EXPECT_EQ(machine.disk().read("boots").value(), ".");
  machine.restart();
  EXPECT_TRUE(machine.is_on());
  EXPECT_FALSE(made.expired());
  EXPECT_EQ(machine.disk().read("boots").value(), "..");
}

TEST_F(SimMachineEdges, machine_whose_boot_throws_was_never_there) {
  SimWorld world(1);
  EXPECT_THROW(
      SimMachine(world, "10.0.0.1", [](SimMachine&) -> SimMachine::Program { throw std::runtime_error("no"); }),
      std::runtime_error);
  SimLoop loop(world);
  bool open = false;
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&](Connection&) { open = true; };
  Server server(*loop, std::move(callbacks));
  Client client(*loop, {});
  ASSERT_TRUE(client.connect(server.listen("10.0.0.1:0").value()));
  EXPECT_TRUE(world.run_until([&] { return open; }));
}

TEST_F(SimMachineEdges, machine_that_is_destroyed_without_power_stays_silent) {
  SimWorld world(1);
  SimMachine client(world, "10.0.0.2");
  auto server = std::make_unique<SimMachine>(world, "10.0.0.1", plain_service);
  SimLoop loop(client);
  ConnectionHandle handle;
  bool closed = false;
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&](Connection& connection) { handle = connection.handle(); };
  callbacks.on_close = [&](Connection&, CloseReason) { closed = true; };
  Client connecting(*loop, std::move(callbacks));
  ASSERT_TRUE(connecting.connect(server->address(kPlainPort)));
  world.run_for(seconds(1));
  server->crash();
  server.reset();
  EXPECT_TRUE(handle.send("?"));
  world.run_for(seconds(10));
  EXPECT_FALSE(closed);
}

TEST_F(SimMachineEdges, world_that_is_run_from_a_boot_inside_it_is_caught) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimWorld world(1);
  SimMachine machine(world, "10.0.0.1", [&](SimMachine&) -> SimMachine::Program {
    world.run_for(seconds(1));
    return {};
  });
  SimLoop loop(world);
  loop->after(seconds(1), [&] {
    machine.crash();
    machine.restart();
  });
  EXPECT_DEATH(world.run_for(seconds(2)), "is run from inside itself");
}

}  // namespace
}  // namespace peal
