// SPDX-License-Identifier: BSD-3-Clause
// Tests the clock, the faults and the seed of the simulator. The engine suite tests SimEngine like all other engines.
#include <peal/sim/sim_world.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const SocketAddress kService = SocketAddress::parse("10.1.2.3:80").value();

struct Stream final : StreamEvents {
  void on_connected(std::error_code error) override {
    connected = true;
    connect_error = error;
  }
  void on_received(Buffer& bytes) override { received += bytes.to_string(); }
  void on_receive_end(std::error_code error) override {
    ended = true;
    end_error = error;
  }
  void on_send_failed(std::error_code error) override { send_error = error; }
  void on_sent(size_t) override {}
  void on_closed() override {}
  void on_detached(LooseStream) override {}

  StreamId id;
  bool connected = false;
  bool ended = false;
  std::error_code connect_error;
  std::error_code end_error;
  std::error_code send_error;
  std::string received;
};

// A host of the test: an engine that the world drives, which adopts its accepted streams and receives from them.
struct Host final : AcceptEvents, DatagramEvents {
  explicit Host(SimWorld& world) : engine(world.make_engine()) {
    EXPECT_TRUE(engine->open().has_value());
    driven = world.drive(*engine, [this] { return engine->wait(kNever); });
  }
  ~Host() { engine->shut(); }

  ListenerId listen(int backlog = 64) {
    ListenOptions options;
    options.backlog = backlog;
    const ListenerId bound = engine->bind(kService, options).value();
    return bound;
  }
  Stream& connect(const SocketAddress& to = kService) {
    Stream& stream = streams.emplace_back();
    stream.id = engine->connect(to, {}, stream);
    engine->receive(stream.id, true);
    return stream;
  }
  void on_accepted(LooseStream loose) override {
    Stream& stream = streams.emplace_back();
    stream.id = engine->adopt(std::move(loose), stream);
    engine->receive(stream.id, true);
  }
  void on_accept_stopped() override {}
  void on_datagram(const SocketAddress&, Buffer& bytes) override { datagrams.push_back(bytes.to_string()); }
  void on_datagram_error(std::error_code) override {}
  void on_datagrams_closed() override {}

  std::unique_ptr<Engine> engine;
  std::shared_ptr<void> driven;
  std::deque<Stream> streams;
  std::vector<std::string> datagrams;
};

std::string numbers(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += std::to_string(i) + ' ';
  return text;
}

// A world in which one client sends `text` and a FIN to one server.
struct Transfer {
  Transfer(uint64_t seed, const SimOptions& options, const std::string& text)
      : world(seed, options), server(world), client(world), stream((serve(), client.connect())) {
    client.engine->send_copy(stream.id, text);
    client.engine->shutdown_send(stream.id);
  }
  void serve() {
    const double no_fd = std::exchange(world.options().no_fd, 0);
    server.engine->accept(server.listen(), server);
    world.options().no_fd = no_fd;
  }
  bool finish() {
    return world.run_until([this] { return !server.streams.empty() && server.streams.front().ended; });
  }
  const Stream& accepted() const { return server.streams.front(); }

  SimWorld world;
  Host server;
  Host client;
  Stream& stream;
};

TEST(SimWorld, same_seed_does_the_same_and_another_seed_something_else) {
  auto trace = [](uint64_t seed) {
    Transfer transfer(seed, SimOptions::hostile(), numbers(5'000));
    transfer.world.run_for(seconds(10));
    return std::pair(transfer.world.trace_hash(), transfer.world.trace_tail(10'000));
  };
  EXPECT_EQ(trace(7), trace(7));
  EXPECT_NE(trace(7), trace(8));
  EXPECT_NE(trace(7).second.find("connected"), std::string::npos);
}

TEST(SimWorld, the_trace_names_the_addresses_of_its_connections) {
  Transfer transfer(7, {}, numbers(10));
  ASSERT_TRUE(transfer.finish());
  const std::string trace = transfer.world.trace_tail();
  const size_t legend = trace.find("ends of connections");
  ASSERT_NE(legend, std::string::npos) << trace;
  const std::string server = kService.to_string();
  EXPECT_NE(trace.find(" -> " + server + "\n", legend), std::string::npos) << trace;
  EXPECT_NE(trace.find(' ' + server + " -> ", legend), std::string::npos) << trace;
}

TEST(SimWorld, time_passes_only_when_nothing_is_to_be_done) {
  SimWorld world(1);
  const TimePoint begin = world.now();
  world.run_for(seconds(3600));
  EXPECT_EQ(world.now() - begin, seconds(3600));
  EXPECT_TRUE(world.run_until_idle());
  EXPECT_EQ(world.now() - begin, seconds(3600));
  EXPECT_FALSE(world.run_until([] { return false; }));
  Transfer transfer(1, {.latency = milliseconds(3)}, "x");
  const TimePoint sent = transfer.world.now();
  ASSERT_TRUE(transfer.finish());
  // Three travel times: the connect request, its answer, then the byte with its FIN.
  EXPECT_EQ(transfer.world.now() - sent, milliseconds(9));
}

TEST(SimWorld, alone_in_its_world_an_engine_moves_the_clock_by_waiting) {
  SimWorld world(1);
  auto engine = world.make_engine();
  ASSERT_TRUE(engine->open().has_value());
  const TimePoint deadline = world.now() + seconds(1000);
  EXPECT_EQ(engine->wait(deadline), 0U);
  EXPECT_EQ(engine->now(), deadline);
}

TEST(SimWorld, hindrances_change_no_byte) {
  struct Case {
    double SimOptions::* chance;
    uint64_t SimStats::* count;
  };
  for (const Case& each :
       {Case{&SimOptions::short_read, &SimStats::short_reads}, Case{&SimOptions::short_write, &SimStats::short_writes},
        Case{&SimOptions::interrupted, &SimStats::interrupted}, Case{&SimOptions::again, &SimStats::again},
        Case{&SimOptions::late, &SimStats::late}}) {
    SimOptions options;
    options.*each.chance = 0.5;
    options.jitter = milliseconds(1);
    const std::string text = numbers(200'000);
    Transfer transfer(3, options, text);
    ASSERT_TRUE(transfer.finish());
    EXPECT_EQ(transfer.accepted().received, text);
    EXPECT_FALSE(transfer.accepted().end_error);
    EXPECT_GT(transfer.world.stats().*each.count, 3U);
  }
}

TEST(SimWorld, reset_is_told_to_both_ends) {
  Transfer transfer(1, {}, "");
  ASSERT_TRUE(transfer.world.run_until([&] { return transfer.stream.connected && !transfer.server.streams.empty(); }));
  transfer.world.options().reset = 1;
  transfer.server.engine->send_copy(transfer.accepted().id, "never to arrive");
  ASSERT_TRUE(transfer.world.run_until([&] { return transfer.stream.ended; }));
  EXPECT_EQ(transfer.stream.end_error, std::errc::connection_reset);
  EXPECT_EQ(transfer.stream.received, "");
  EXPECT_EQ(transfer.world.stats().resets, 1U);
}

TEST(SimWorld, vanished_peer_is_missed_only_by_who_waits_for_it) {
  SimOptions options;
  options.vanish = 1;
  Transfer transfer(1, options, "hello?");
  const TimePoint begin = transfer.world.now();
  ASSERT_TRUE(transfer.world.run_until([&] { return transfer.stream.ended; }));
  EXPECT_EQ(transfer.stream.end_error, std::errc::timed_out);
  EXPECT_GE(transfer.world.now() - begin, options.give_up);
  ASSERT_EQ(transfer.server.streams.size(), 1U);
  EXPECT_EQ(transfer.accepted().received, "");
  EXPECT_FALSE(transfer.accepted().ended);
}

TEST(SimWorld, connecting_fails_in_each_way) {
  struct Case {
    double SimOptions::* chance;
    std::errc error;
    Duration after;
  };
  for (const Case& each : {Case{&SimOptions::refuse, std::errc::connection_refused, {}},
                           Case{&SimOptions::unreachable, std::errc::host_unreachable, {}},
                           Case{&SimOptions::no_fd, std::errc::too_many_files_open, {}},
                           Case{&SimOptions::swallow, std::errc::timed_out, seconds(127)}}) {
    SimOptions options;
    options.*each.chance = 1;
    Transfer transfer(1, options, "");
    const TimePoint begin = transfer.world.now();
    ASSERT_TRUE(transfer.world.run_until([&] { return transfer.stream.connected; }));
    EXPECT_EQ(transfer.stream.connect_error, each.error);
    EXPECT_GE(transfer.world.now() - begin, each.after);
  }
}

TEST(SimWorld, nobodys_network_swallows_what_is_sent_there) {
  SimWorld world(1);
  Host host(world);
  const TimePoint begin = world.now();
  Stream& stream = host.connect(SocketAddress::parse("192.0.2.7:80").value());
  ASSERT_TRUE(world.run_until([&] { return stream.connected; }));
  EXPECT_EQ(stream.connect_error, std::errc::timed_out);
  EXPECT_EQ(world.now() - begin, seconds(127));
}

TEST(SimWorld, binding_without_an_fd_is_an_error) {
  SimOptions options;
  options.no_fd = 1;
  SimWorld world(1, options);
  Host host(world);
  EXPECT_EQ(host.engine->bind(kService, {}).error(), std::errc::too_many_files_open);
  EXPECT_EQ(host.engine->open_datagrams(kService, {}, host).error(), std::errc::too_many_files_open);
}

TEST(SimWorld, accepting_without_an_fd_sheds_pauses_and_recovers) {
  SimWorld world(1);
  Host server(world);
  Host client(world);
  server.engine->accept(server.listen(), server);
  Stream& shed = client.connect();
  world.options().no_fd = 1;
  // The client took its fd before no_fd was set, so only the accept of the server fails.
  ASSERT_TRUE(world.run_until([&] { return shed.ended; }));
  EXPECT_TRUE(server.streams.empty());
  EXPECT_EQ(server.engine->stats().accepts_shed, 1U);
  EXPECT_EQ(server.engine->stats().accept_pauses, 1U);
  world.options().no_fd = 0;
  const TimePoint paused = world.now();
  client.connect();
  ASSERT_TRUE(world.run_until([&] { return !server.streams.empty(); }));
  EXPECT_GT(world.now() - paused, milliseconds(9));
}

TEST(SimWorld, full_backlog_makes_clients_knock_again) {
  SimWorld world(1);
  Host server(world);
  Host client(world);
  const ListenerId listener = server.listen(1);
  for (int i = 0; i < 5; ++i) client.connect();
  auto connected = [&] { return std::ranges::count_if(client.streams, &Stream::connected); };
  world.run_for(milliseconds(500));
  EXPECT_EQ(connected(), 2);
  server.engine->accept(listener, server);
  ASSERT_TRUE(world.run_until([&] { return connected() == 5; }, seconds(5)));
  EXPECT_TRUE(std::ranges::none_of(client.streams, [](const Stream& stream) { return bool(stream.connect_error); }));
}

TEST(SimWorld, who_does_not_read_stops_who_sends) {
  SimOptions options;
  options.send_buffer_bytes = options.receive_buffer_bytes = 1000;
  Transfer transfer(1, options, numbers(10'000));
  ASSERT_TRUE(transfer.world.run_until([&] { return !transfer.server.streams.empty(); }));
  transfer.server.engine->receive(transfer.accepted().id, false);
  transfer.world.run_for(seconds(1));
  const size_t queued = transfer.client.engine->queued_bytes(transfer.stream.id);
  EXPECT_EQ(queued + transfer.accepted().received.size() + 2000, numbers(10'000).size());
  transfer.server.engine->receive(transfer.accepted().id, true);
  ASSERT_TRUE(transfer.finish());
  EXPECT_EQ(transfer.accepted().received, numbers(10'000));
}

TEST(SimWorld, datagrams_get_lost_doubled_and_overtaken) {
  auto receive = [](const SimOptions& options) {
    SimWorld world(5, options);
    Host server(world);
    Host client(world);
    EXPECT_TRUE(server.engine->open_datagrams(kService, {}, server).has_value());
    const auto socket = client.engine->open_datagrams(SocketAddress::parse("10.0.0.9:0").value(), {}, client);
    for (int i = 100; i < 200; ++i) {
      EXPECT_TRUE((*socket)->send(kService, std::to_string(i)).has_value());
    }
    world.run_for(seconds(1));
    return std::move(server.datagrams);
  };
  EXPECT_EQ(receive({}).size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(receive({})));
  EXPECT_LT(receive({.lose_datagram = 0.5}).size(), 80U);
  EXPECT_GT(receive({.double_datagram = 0.5}).size(), 120U);
  EXPECT_FALSE(std::ranges::is_sorted(receive({.overtaken_datagram = 0.5})));
}

TEST(SimWorld, datagram_larger_than_the_receive_buffer_comes_alone) {
  SimWorld world(1);
  Host server(world);
  Host client(world);
  EXPECT_TRUE(server.engine->open_datagrams(kService, {.receive_buffer_bytes = 10}, server).has_value());
  const auto socket = client.engine->open_datagrams(SocketAddress::parse("10.0.0.9:0").value(), {}, client);
  for (const std::string& text : {std::string(100, 'x'), std::string("no room")}) {
    EXPECT_TRUE((*socket)->send(kService, text).has_value());
  }
  world.run_for(seconds(1));
  EXPECT_EQ(server.datagrams, std::vector<std::string>{std::string(100, 'x')});
  EXPECT_EQ(world.stats().datagrams_lost, 1U);
}

TEST(SimWorld, has_no_multicast_groups) {
  SimWorld world(1);
  Host host(world);
  Datagrams* const socket = host.engine->open_datagrams(kService, {}, host).value();
  const SocketAddress group = SocketAddress::parse("239.255.77.1:0").value();
  EXPECT_EQ(socket->join(group, "").error(), std::errc::operation_not_supported);
  EXPECT_EQ(socket->leave(group, "").error(), std::errc::operation_not_supported);
}

TEST(SimWorld, engines_answer_with_its_names) {
  SimWorld world(1);
  auto engine = world.make_engine();
  world.names()["service"] = {kService};
  ASSERT_NE(engine->names(), nullptr);
  EXPECT_EQ(engine->names()->at("service").front(), kService);
}

TEST(SimWorld, time_passes_up_to_the_limit_of_a_wait_in_vain) {
  SimWorld world(1);
  Host host(world);
  world.after(seconds(5), [] {});
  const TimePoint begin = world.now();
  EXPECT_FALSE(world.run_until([] { return false; }, seconds(1)));
  EXPECT_EQ(world.now() - begin, seconds(1));
}

TEST(SimWorld, failed_world_is_not_idle) {
  SimWorld world(1);
  EXPECT_TRUE(world.run_until_idle());
  world.fail("of a test's own accord");
  EXPECT_FALSE(world.run_until_idle());
}

TEST(SimWorld, world_goes_on_after_what_was_thrown_in_it) {
  SimWorld world(1);
  auto engine = world.make_engine();
  ASSERT_TRUE(engine->open());
  bool throws = true;
  const auto driven = world.drive(*engine, [&] {
    if (std::exchange(throws, false)) throw std::runtime_error("a step");
    return engine->wait(kNever);
  });
  EXPECT_THROW(world.run_for(seconds(1)), std::runtime_error);
  bool second = false;
  world.after(seconds(1), [] { throw std::runtime_error("a task"); });
  world.after(seconds(1), [&] { second = true; });
  EXPECT_THROW(world.run_for(seconds(2)), std::runtime_error);
  EXPECT_FALSE(second);
  world.run_for(seconds(2));
  EXPECT_TRUE(second);
  engine->shut();
}

TEST(SimWorld, hostile_one_has_some_of_each_fault) {
  const SimOptions none;
  const SimOptions all = SimOptions::hostile();
  for (const auto fault :
       {&SimOptions::short_read, &SimOptions::short_write, &SimOptions::interrupted, &SimOptions::again,
        &SimOptions::late, &SimOptions::reset, &SimOptions::vanish, &SimOptions::refuse, &SimOptions::unreachable,
        &SimOptions::swallow, &SimOptions::no_fd, &SimOptions::lose_datagram, &SimOptions::double_datagram,
        &SimOptions::overtaken_datagram, &SimOptions::disk_error}) {
    EXPECT_EQ(none.*fault, 0);
    EXPECT_GT(all.*fault, 0);
  }
}

TEST(SimWorld, interruption_without_end_ends) {
  Transfer transfer(1, {.interrupted = 1}, numbers(100));
  ASSERT_TRUE(transfer.finish());
  EXPECT_EQ(transfer.accepted().received, numbers(100));
}

}  // namespace
}  // namespace peal
