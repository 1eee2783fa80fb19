// SPDX-License-Identifier: BSD-3-Clause
// Tests of simulated machines that lose power and start again, and of machines whose clocks differ.
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/net/client.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_loop_group.h>
#include <peal/sim/sim_machine.h>
#include <peal/sim/simulate.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint16_t kPort = 9000;  // a port in the simulated network

// A service that counts the lines "+\n" it gets, and answers each with the count so far. It appends each line to a log
// on its disk, and reads the log when it starts. If `syncs` is true, it syncs the log before it answers. A crash then
// cannot lose a count that was answered.
class CountingService {
 public:
  CountingService(SimMachine& machine, bool syncs) : disk_(machine.disk()), syncs_(syncs), loop_(machine) {
    Result<std::string> log = disk_.read("log");
    while (!log && log.error() == std::errc::io_error) log = disk_.read("log");
    if (log) count_ = log->size();
    ConnectionCallbacks callbacks;
    callbacks.on_message = [this](Connection& connection, Buffer& input) { answer(connection, input); };
    server_ = std::make_unique<Server>(*loop_, std::move(callbacks));
    while (!server_->listen(machine.address(kPort))) {
    }
  }

 private:
  void answer(Connection& connection, Buffer& input) {
    for (; input.size() >= 2; input.consume(2)) {
      if (!disk_.append("log", "+") || (syncs_ && !disk_.sync("log"))) return connection.abort();
      connection.send(std::to_string(++count_) + "\n");
    }
  }

  SimDisk& disk_;
  const bool syncs_;
  size_t count_ = 0;
  SimLoop loop_;
  std::unique_ptr<Server> server_;
};

SimMachine::Boot counting(bool syncs) {
  return [syncs](SimMachine& machine) { return std::make_shared<CountingService>(machine, syncs); };
}

// A client of the counting service. It sends one line after the other and remembers the last answer. If it loses its
// connection, it connects again.
class Adder {
 public:
  Adder(SimWorld& world, SimMachine& machine, const SocketAddress& service)
      : world_(world), loop_(machine), client_(*loop_, callbacks(), options()) {
    world_.expect(client_.connect(service).has_value(), "the adder cannot begin to connect");
  }
  size_t told() const { return told_; }
  int resets() const { return resets_; }
  int losses() const { return losses_; }
  bool is_open() const { return open_; }

 private:
  static ClientOptions options() {
    ClientOptions options;
    options.connect_timeout = milliseconds(500);
    options.retry = {.attempts = 0, .longest_delay = milliseconds(500), .reconnect = true};
    options.connection.idle_timeout = seconds(20);
    return options;
  }
  ConnectionCallbacks callbacks() {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this](Connection& connection) {
      open_ = true;
      connection.send("+\n");
    };
    callbacks.on_message = [this](Connection& connection, Buffer& input) {
      if (input.view().find('\n') == std::string_view::npos) return;
      size_t count = 0;
      std::from_chars(input.view().begin(), input.view().end(), count);
      input.clear();
      world_.expect(count > told_, "the service has lost a count that it had answered");
      told_ = count;
      loop_->after(milliseconds(20), [handle = connection.handle()] { handle.send("+\n"); });
    };
    callbacks.on_close = [this](Connection&, CloseReason reason) {
      open_ = false;
      ++losses_;
      resets_ += reason == CloseReason::kReset;
    };
    return callbacks;
  }

  SimWorld& world_;
  size_t told_ = 0;
  int resets_ = 0;
  int losses_ = 0;
  bool open_ = false;
  SimLoop loop_;
  Client client_;
};

class SimMachineTest : public test::SimTest {};

TEST_F(SimMachineTest, peers_of_a_crashed_machine_hear_nothing_until_it_is_back_and_then_a_reset) {
  SimWorld world(1);
  SimMachine server(world, "10.0.0.1", counting(true));
  SimMachine client(world, "10.0.0.2");
  Adder adder(world, client, server.address(kPort));
  ASSERT_TRUE(world.run_until([&] { return adder.told() >= 10; }));
  server.crash();
  EXPECT_FALSE(server.is_on());
  const size_t told = adder.told();
  world.run_for(seconds(10));
  EXPECT_EQ(adder.told(), told);
  EXPECT_EQ(adder.losses(), 0);
  server.restart();
  EXPECT_TRUE(server.is_on());
  ASSERT_TRUE(world.run_until([&] { return adder.resets() == 1; }, seconds(10)));
  ASSERT_TRUE(world.run_until([&] { return adder.told() > told + 10; }));
  EXPECT_EQ(adder.losses(), 1);
}

TEST_F(SimMachineTest, crash_asked_for_inside_a_step_comes_after_it) {
  SimWorld world(1);
  SimMachine server(world, "10.0.0.1", counting(true));
  SimMachine client(world, "10.0.0.2");
  Adder adder(world, client, server.address(kPort));
  SimLoop loop(world);
  loop->after(seconds(1), [&] {
    server.crash();
    EXPECT_TRUE(server.is_on());
  });
  loop->after(seconds(2), [&] {
    EXPECT_FALSE(server.is_on());
    server.restart();
    server.crash();
    server.restart();
  });
  ASSERT_TRUE(world.run_until([&] { return adder.resets() == 1; }));
  EXPECT_TRUE(server.is_on());
}

TEST_F(SimMachineTest, machine_whose_disk_is_lost_begins_anew) {
  SimWorld world(1);
  SimMachine server(world, "10.0.0.1", counting(true));
  SimMachine client(world, "10.0.0.2");
  Adder adder(world, client, server.address(kPort));
  ASSERT_TRUE(world.run_until([&] { return adder.told() >= 10; }));
  server.crash(SimMachine::Disk::kLost);
  server.restart();
  world.run_for(minutes(1));
  EXPECT_EQ(world.failure(), "the service has lost a count that it had answered");
}

TEST_F(SimMachineTest, connecting_to_a_machine_without_power_times_out_and_without_a_program_is_refused) {
  SimWorld world(1);
  SimMachine server(world, "10.0.0.1");
  SimLoop loop(world);
  std::error_code error;
  auto attempt = [&] {
    error.clear();
    ClientOptions options{.connect_timeout = minutes(5)};
    Client client(*loop, {}, options, [&](std::error_code why, Duration) { error = why; });
    EXPECT_TRUE(client.connect(server.address(kPort)));
    EXPECT_TRUE(world.run_until([&] { return bool(error); }));
  };
  attempt();
  EXPECT_EQ(error, std::errc::connection_refused);
  server.crash();
  attempt();
  EXPECT_EQ(error, std::errc::timed_out);
  server.restart();
  attempt();
  EXPECT_EQ(error, std::errc::connection_refused);
}

TEST_F(SimMachineTest, machine_that_ends_in_order_says_goodbye) {
  SimWorld world(1);
  SimMachine client(world, "10.0.0.2");
  auto server = std::make_unique<SimMachine>(world, "10.0.0.1", counting(true));
  Adder adder(world, client, server->address(kPort));
  ASSERT_TRUE(world.run_until([&] { return adder.told() >= 1; }));
  server.reset();
  ASSERT_TRUE(world.run_until([&] { return adder.losses() == 1; }, seconds(1)));
}

TEST_F(SimMachineTest, each_machine_has_its_own_ports_and_its_own_loopback) {
  SimWorld world(1);
  SimMachine one(world, "10.0.0.1", counting(true));
  SimMachine other(world, "10.0.0.2", counting(true));
  SimLoop loop_of_one(one);
  Server local(*loop_of_one, ConnectionCallbacks{});
  EXPECT_EQ(local.listen("10.0.0.2:0").error(), std::errc::address_not_available);
  EXPECT_EQ(local.listen(one.address(kPort)).error(), std::errc::address_in_use);
  const SocketAddress loopback = local.listen("127.0.0.1:0").value();
  auto outcome_of = [&](SimMachine& from) {
    SimLoop loop(from);
    std::error_code error = std::make_error_code(std::errc::timed_out);
    bool over = false;
    ConnectionCallbacks callbacks;
    callbacks.on_open = [&](Connection&) {
      error.clear();
      over = true;
    };
    Client client(*loop, std::move(callbacks), {}, [&](std::error_code why, Duration) {
      error = why;
      over = true;
    });
    EXPECT_TRUE(client.connect(loopback));
    EXPECT_TRUE(world.run_until([&] { return over; }));
    return error;
  };
  EXPECT_FALSE(outcome_of(one));
  EXPECT_EQ(outcome_of(other), std::errc::connection_refused);
}

TEST_F(SimMachineTest, clock_that_is_ahead_and_fast_is_what_its_loops_see) {
  SimWorld world(1);
  SimMachine machine(world, "10.0.0.1");
  machine.set_clock({.ahead = hours(2), .rate = 1.5});
  SimLoop loop(machine);
  EXPECT_EQ(machine.now() - world.now(), hours(2));
  const TimePoint begin = world.now();
  const TimePoint own_begin = loop->now();
  TimePoint fired;
  loop->after(seconds(30), [&] { fired = world.now(); });
  world.run_for(seconds(60));
  EXPECT_GE(fired - begin, seconds(20));
  EXPECT_LT(fired - begin, seconds(20) + milliseconds(2));
  EXPECT_EQ(loop->now() - own_begin, seconds(90));
}

TEST_F(SimMachineTest, slow_clock_fires_late_and_one_that_is_set_back_stands_still) {
  SimWorld world(1);
  SimMachine machine(world, "10.0.0.1");
  SimLoop loop(machine);
  machine.set_clock({.rate = 0.999});
  int ticks = 0;
  loop->every(seconds(1), [&] { ++ticks; });
  world.run_for(seconds(1000) + milliseconds(500));
  EXPECT_EQ(ticks, 999);
  const TimePoint before = machine.now();
  machine.set_clock({.ahead = -minutes(1)});
  world.run_for(seconds(30));
  EXPECT_EQ(machine.now(), before);
  world.run_for(minutes(1));
  EXPECT_EQ(machine.now(), world.now() - minutes(1));
  EXPECT_THROW(machine.set_clock({.rate = 0}), std::invalid_argument);
}

TEST_F(SimMachineTest, several_loops_die_in_one_crash) {
  struct Program {
    explicit Program(SimMachine& machine) : group(machine, 4) {
      SharedConnectionCallbacks callbacks;
      callbacks.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); };
      server = std::make_unique<Server>(*group, std::move(callbacks));
      EXPECT_TRUE(server->listen(machine.address(kPort)));
    }
    SimLoopGroup group;
    std::unique_ptr<Server> server;
  };
  SimWorld world(1, {.latency = milliseconds(5)});
  SimMachine server(world, "10.0.0.1", [](SimMachine& machine) { return std::make_shared<Program>(machine); });
  SimMachine client(world, "10.0.0.2");
  SimLoop loop(client);
  int echoes = 0;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [](Connection& connection) { connection.send("x"); };
    callbacks.on_message = [&](Connection& connection, Buffer& input) {
      ++echoes;
      connection.send(std::move(input));
    };
    ClientOptions options;
    options.retry = {.attempts = 0, .reconnect = true};
    clients.push_back(std::make_unique<Client>(*loop, std::move(callbacks), options));
    ASSERT_TRUE(clients.back()->connect(server.address(kPort)));
  }
  world.run_for(seconds(1));
  for (int i = 0; i < 5; ++i) {
    EXPECT_GT(std::exchange(echoes, 0), 100);
    server.crash();
    world.run_for(seconds(1));
    echoes = 0;
    world.run_for(seconds(1));
    EXPECT_EQ(echoes, 0);
    server.restart();
    world.run_for(seconds(10));
  }
}

// Crashes the counting service once or twice, in a network with some other faults. Returns true if the client gets
// answers again afterwards.
bool play_crashes(SimWorld& world, bool syncs) {
  SimMachine server(world, "10.0.0.1", counting(syncs));
  SimMachine client(world, "10.0.0.2");
  Adder adder(world, client, server.address(kPort));
  for (int crashes = 1 + static_cast<int>(world.seed() % 2); crashes > 0; --crashes) {
    world.run_for(milliseconds(200 + world.seed() % 97 * 10));
    server.crash();
    world.run_for(milliseconds(10));
    server.restart();
  }
  const size_t told = adder.told();
  return world.run_until([&] { return adder.told() > told + 3; }, minutes(10));
}

SimOptions a_little_hostile() {
  SimOptions options;
  options.jitter = milliseconds(1);
  options.late = options.again = options.short_write = 0.1;
  options.reset = 0.01;
  options.disk_error = 0.01;
  return options;
}

TEST_F(SimMachineTest, log_that_is_synced_survives_a_thousand_seeds) {
  const SimReport report =
      simulate_seeds(1, 1000, a_little_hostile(), [](SimWorld& world) { return play_crashes(world, true); });
  EXPECT_TRUE(report) << report.text();
}

TEST_F(SimMachineTest, log_that_is_not_synced_is_caught_by_the_crash_that_loses_it) {
  const SimReport report =
      simulate_seeds(1, 100, a_little_hostile(), [](SimWorld& world) { return play_crashes(world, false); });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.why, "the service has lost a count that it had answered");
  EXPECT_GT(report.struck, 5u);
  ASSERT_EQ(report.faults.size(), 1u) << report.text();
  const SimFault& fault = report.faults.front();
  EXPECT_TRUE(fault.kind == SimFaultKind::kLoseUnsynced || fault.kind == SimFaultKind::kTearUnsynced);
  EXPECT_NE(fault.text().find("log on 10.0.0.1 at 00:0"), std::string::npos) << fault.text();
}

}  // namespace
}  // namespace peal
