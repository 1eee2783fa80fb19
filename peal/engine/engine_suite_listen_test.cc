// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, listening: binding, accepting, connecting, and how each of them fails.
#include <algorithm>
#include <thread>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class EngineListen : public EngineTest {
 protected:
  void echo_over(const SocketAddress& wanted) {
    AcceptLog& acceptor = rig().listen(wanted);
    StreamLog& client = rig().connect(acceptor.address);
    ASSERT_TRUE(rig().run_until([&] { return client.connected && !acceptor.accepted.empty(); }));
    ASSERT_FALSE(client.connect_error) << client.connect_error.message();
    StreamLog& server = rig().adopt(std::move(acceptor.accepted.front()));
    auto peer = rig().engine().peer_address(client.id);
    ASSERT_TRUE(peer.has_value());
    EXPECT_EQ(*peer, acceptor.address);
    auto here = rig().engine().local_address(client.id);
    auto there = rig().engine().peer_address(server.id);
    ASSERT_TRUE(here.has_value() && there.has_value());
    EXPECT_EQ(*here, *there);
    server.receive();
    client.receive();
    server.when_received = [&] { server.send(server.received); };
    client.send("hello");
    ASSERT_TRUE(rig().run_until([&] { return client.received == "hello"; }));
    ASSERT_TRUE(rig().stops(acceptor));
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, EngineListen, testing::ValuesIn(every_engine()), engine_label);

// These tests do not run in the simulator: a second engine made by name would have a world of its own.
class EngineListenBeside : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, EngineListenBeside, testing::ValuesIn(engines_with_fds()), engine_label);

TEST_P(EngineListen, ipv4) { echo_over(EngineRig::loopback()); }

TEST_P(EngineListen, ipv6) {
  if (!has_ipv6_loopback()) GTEST_SKIP() << "no IPv6 on this machine";
  echo_over(address_of("[::1]:0"));
}

TEST_P(EngineListen, both_kinds_of_ip_on_one_listener_unless_told_otherwise) {
  if (!has_ipv6_loopback()) GTEST_SKIP() << "no IPv6 on this machine";
  for (bool v6_only : {false, true}) {
    AcceptLog& acceptor = rig().listen(address_of("[::]:0"), {.v6_only = v6_only, .socket = {}});
    SocketAddress v4 = EngineRig::loopback();
    v4.set_port(acceptor.address.port());
    StreamLog& client = rig().connect(v4);
    ASSERT_TRUE(rig().run_until([&] { return client.connected; }));
    EXPECT_EQ(static_cast<bool>(client.connect_error), v6_only) << client.connect_error.message();
  }
}

TEST_P(EngineListen, connect_is_refused_after_the_call_not_in_it) {
  auto bound = rig().engine().bind(EngineRig::loopback(), {});
  ASSERT_TRUE(bound.has_value());
  SocketAddress address = rig().engine().local_address(*bound).value();
  rig().engine().stop(*bound);
  StreamLog& client = rig().connect(address);
  EXPECT_FALSE(client.connected);
  client.receive();
  client.send("lost");
  client.report_sent();
  ASSERT_TRUE(rig().run_until([&] { return client.connected; }));
  EXPECT_EQ(client.connect_error, std::errc::connection_refused);
  client.send("lost too");
  client.shutdown_send();
  rig().settle();
  EXPECT_FALSE(client.closed);
  client.close();
  ASSERT_TRUE(rig().run_until([&] { return client.closed; }));
  EXPECT_EQ(client.received, "");
}

TEST_P(EngineListen, connect_that_fails_at_once_is_reported_later) {
  // A stream cannot connect to a broadcast address, nor have a source address that this host does not have.
  StreamLog& unreachable = rig().connect(address_of("255.255.255.255:9"));
  StreamLog& sourceless =
      rig().connect(address_of("127.0.0.1:9"), "sourceless", {.socket = {}, .source = address_of("192.0.2.1:0")});
  EXPECT_FALSE(unreachable.connected || sourceless.connected);
  ASSERT_TRUE(rig().run_until([&] { return unreachable.connected && sourceless.connected; }));
  EXPECT_TRUE(static_cast<bool>(unreachable.connect_error));
  EXPECT_EQ(sourceless.connect_error, std::errc::address_not_available);
  rig().settle();
}

TEST_P(EngineListen, connect_from_a_chosen_source) {
  AcceptLog& acceptor = rig().listen();
  StreamLog& client = rig().connect(acceptor.address, "client", {.socket = {}, .source = address_of("127.0.0.2:0")});
  ASSERT_TRUE(rig().run_until([&] { return client.connected && !acceptor.accepted.empty(); }));
  ASSERT_FALSE(client.connect_error) << client.connect_error.message();
  StreamLog& server = rig().adopt(std::move(acceptor.accepted.front()));
  SocketAddress peer = rig().engine().peer_address(server.id).value();
  peer.set_port(0);
  EXPECT_EQ(peer, address_of("127.0.0.2:0"));
}

TEST_P(EngineListen, address_in_use) {
  AcceptLog& first = rig().listen();
  EXPECT_EQ(test::error_of(rig().engine().bind(first.address, {})), std::errc::address_in_use);
}

TEST_P(EngineListen, address_of_nobody) {
  EXPECT_EQ(test::error_of(rig().engine().bind(address_of("192.0.2.1:0"), {})), std::errc::address_not_available);
}

TEST_P(EngineListen, two_listeners_share_an_address_when_both_say_so) {
  ListenOptions options{.reuse_port = true, .socket = {}};
  AcceptLog& first = rig().listen(EngineRig::loopback(), options);
  AcceptLog& second = rig().listen(first.address, options);
  for (int i = 0; i < 40; ++i) rig().connect(first.address);
  ASSERT_TRUE(rig().run_until([&] { return first.accept_count + second.accept_count == 40; }));
}

TEST_P(EngineListen, port_is_free_again_after_stop) {
  AcceptLog& first = rig().listen();
  StreamLog& client = rig().connect(first.address);
  ASSERT_TRUE(rig().run_until([&] { return client.connected && first.accept_count == 1; }));
  ASSERT_TRUE(rig().stops(first));
  AcceptLog& second = rig().listen(first.address);  // Connections accepted at the port do not keep it in use.
  EXPECT_EQ(second.address, first.address);
}

TEST_P(EngineListen, listener_that_does_not_accept_yet_keeps_its_clients_waiting) {
  auto bound = rig().engine().bind(EngineRig::loopback(), {});
  ASSERT_TRUE(bound.has_value());
  SocketAddress address = rig().engine().local_address(*bound).value();
  StreamLog& client = rig().connect(address);
  ASSERT_TRUE(rig().run_until([&] { return client.connected; }));
  EXPECT_FALSE(client.connect_error);
  client.receive();
  rig().settle();
  EXPECT_FALSE(client.ended);
  rig().engine().stop(*bound);
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_FALSE(rig().engine().local_address(*bound).has_value());
}

TEST_P(EngineListen, late_connections_are_delivered_before_the_final_completion) {
  AcceptLog& acceptor = rig().listen();
  constexpr int kClients = 50;
  std::vector<StreamLog*> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(&rig().connect(acceptor.address));
    clients.back()->receive();
  }
  acceptor.when_accepted = [&] {
    if (acceptor.accept_count == 3) acceptor.stop();
  };
  // The sink fails the test if a connection is delivered after the stop.
  ASSERT_TRUE(rig().run_until([&] { return acceptor.stopped; }));
  EXPECT_GE(acceptor.accept_count, 3U);
  EXPECT_GE(rig().stats().accepts, acceptor.accept_count);
  EXPECT_LE(rig().stats().accepted_late, rig().stats().accepts);
  // Every other client sees that it was not accepted.
  size_t delivered = acceptor.accept_count;
  ASSERT_TRUE(rig().run_until([&] {
    auto turned_away = [](StreamLog* client) { return client->connect_error || client->ended; };
    return std::ranges::count_if(clients, turned_away) >= kClients - static_cast<ptrdiff_t>(delivered);
  }));
  StreamLog& late = rig().connect(acceptor.address);
  ASSERT_TRUE(rig().run_until([&] { return late.connected; }));
  EXPECT_EQ(late.connect_error, std::errc::connection_refused);
  EXPECT_EQ(acceptor.accept_count, delivered);
}

TEST_P(EngineListen, stopped_at_once_after_accept) {
  AcceptLog& acceptor = rig().listen();
  acceptor.stop();
  EXPECT_FALSE(acceptor.stopped) << "a completion inside the call";
  ASSERT_TRUE(rig().run_until([&] { return acceptor.stopped; }));
  uint64_t before = rig().stats().stale_calls;
  acceptor.stop();
  rig().engine().accept(acceptor.id, acceptor);
  EXPECT_EQ(rig().stats().stale_calls - before, 2U);
  rig().settle();
}

TEST_P(EngineListenBeside, bound_by_another_thread_before_open) {
  auto made = test::make_engine(GetParam());
  ASSERT_TRUE(made.has_value());
  Engine& engine = **made;
  SocketAddress address;
  ListenerId bound;
  std::thread([&] {
    bound = engine.bind(EngineRig::loopback(), {}).value();
    address = engine.local_address(bound).value();
    ListenerId unwanted = engine.bind(EngineRig::loopback(), {}).value();
    engine.stop(unwanted);
    EXPECT_NE(engine.waker(), nullptr);
  }).join();
  StreamLog& client = rig().connect(address);
  ASSERT_TRUE(rig().run_until([&] { return client.connected; }));
  EXPECT_FALSE(client.connect_error) << client.connect_error.message();
  struct Sink final : AcceptEvents {
    void on_accepted(LooseStream) override { ++accepted; }
    void on_accept_stopped() override { stopped = true; }
    int accepted = 0;
    bool stopped = false;
  } sink;
  ASSERT_TRUE(engine.open().has_value());
  engine.accept(bound, sink);
  TimePoint give_up = engine.now() + std::chrono::seconds(10);
  while (sink.accepted == 0 && engine.now() < give_up) engine.wait(give_up);
  EXPECT_EQ(sink.accepted, 1);
  engine.shut();
  EXPECT_TRUE(sink.stopped);
  engine.stop(bound);
}

TEST_P(EngineListen, engine_that_is_never_opened_leaves_nothing_behind) {
  auto made = test::make_engine(GetParam());
  ASSERT_TRUE(made.has_value());
  ASSERT_TRUE((*made)->bind(EngineRig::loopback(), {}).has_value());
  (*made)->waker()->wake();
}

}  // namespace
}  // namespace peal
