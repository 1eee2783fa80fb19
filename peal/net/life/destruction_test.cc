// SPDX-License-Identifier: BSD-3-Clause
// Servers, clients and loops that are destroyed in every order, at the worst moments. The sanitizers find the errors;
// each test also checks that no callback begins after its owner was destroyed.
#include <atomic>

#include <tests/support/engines/dying_owners.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

class DestructionTest : public test::NetTest {
 protected:
  SocketAddress listen(Server& server) { return server.listen("127.0.0.1:0").value(); }
};

TEST_P(DestructionTest, server_inside_each_of_its_callbacks) {
  for (std::string_view where : {"open", "message", "writable", "peer end", "close"}) {
    SCOPED_TRACE(where);
    std::unique_ptr<Server> server;
    std::atomic<bool> gone = false;
    auto destroy_in = [&](std::string_view here, Connection&) {
      EXPECT_FALSE(gone) << here;
      if (here != where) return;
      server.reset();
      gone = true;
    };
    auto answer = [&](Connection& connection) {
      if (where == "writable") connection.send(std::string(400'000, 'x'));
    };
    server = std::make_unique<Server>(loop(), test::acting(destroy_in, answer));
    SocketAddress address = listen(*server);
    RawPeer bystander;
    if (where != "open") bystander.connect(address);
    RawPeer peer = RawPeer::connected(address);
    peer.try_send("hello");
    if (where == "peer end" || where == "close") peer.fin();
    ASSERT_TRUE(wait_until([&] { return gone.load(); }));
    EXPECT_TRUE(ends(peer));
    EXPECT_TRUE(where == "open" || ends(bystander));
  }
}

TEST_P(DestructionTest, client_inside_each_of_its_callbacks) {
  auto server = serve({.on_message = [](Connection& connection, Buffer& input) {
    connection.send(std::move(input));
    connection.close();
  }});
  for (std::string_view where : {"open", "message", "writable", "close", "failed"}) {
    SCOPED_TRACE(where);
    std::unique_ptr<Client> client;
    std::atomic<bool> gone = false;
    auto destroy_in = [&](std::string_view here) {
      EXPECT_FALSE(gone) << here;
      if (here != where) return;
      client.reset();
      gone = true;
    };
    auto act = [&](std::string_view here, Connection& connection) {
      if (here == "open") connection.send(where == "writable" ? std::string(400'000, 'x') : "hello");
      destroy_in(here);
    };
    client = std::make_unique<Client>(loop(), test::acting(act, [](Connection&) {}),
                                      ClientOptions{.retry = {.reconnect = true}},
                                      [&](std::error_code, Duration) { destroy_in("failed"); });
    ASSERT_TRUE(where == "failed" ? client->connect("unix:/nowhere/at/all/socket") : client->connect(address()));
    ASSERT_TRUE(wait_until([&] { return gone.load(); }));
  }
}

TEST_P(DestructionTest, server_before_its_connections) {
  test::OwnedCalls owned;
  auto server = std::make_unique<Server>(loop(), owned.callbacks());
  SocketAddress address = listen(*server);
  std::vector<RawPeer> peers = RawPeer::connected_many(address, 20);
  for (RawPeer& peer : peers) peer.send("hello");
  ASSERT_TRUE(wait_until([&] { return *owned.calls >= 30; }));
  server.reset();
  owned.end();
  for (RawPeer& peer : peers) EXPECT_TRUE(ends(peer));
}

TEST_P(DestructionTest, server_while_clients_are_connecting_and_talking) {
  for (int round = 0; round < 20; ++round) {
    test::OwnedCalls owned;
    auto group = LoopGroup::start(2, group_options()).value();
    auto mode = static_cast<AcceptMode>(round % 3);
    auto server = std::make_unique<Server>(*group, owned.callbacks(), group_server({.accept = mode}));
    SocketAddress address = listen(*server);
    std::vector<RawPeer> peers = RawPeer::connected_many(address, 20);
    for (RawPeer& peer : peers) peer.try_send("hello");
    server.reset();
    owned.end();
    for (RawPeer& peer : peers) EXPECT_TRUE(ends(peer));
  }
}

TEST_P(DestructionTest, server_before_its_loop_runs) {
  auto idle = test::make_loop(options()).value();
  {
    Server server(*idle, test::echoing());
    listen(server);
    EXPECT_EQ(server.connections(), 0u);
  }
  {
    Server server(*idle, test::echoing());
    listen(server);
    server.stop_listening();
    listen(server);
  }
  idle->stop();
  EXPECT_TRUE(idle->run());
}

TEST_P(DestructionTest, loop_that_never_ran_before_server_and_client) {
  auto idle = test::make_loop(options()).value();
  Server server(*idle, test::echoing());
  SocketAddress address = listen(server);
  Client client(*idle, test::echoing());
  ASSERT_TRUE(client.connect(address));
  idle->post([keep = std::make_shared<int>(1)] { ADD_FAILURE() << *keep; });
  idle.reset();
  EXPECT_FALSE(server.listen("127.0.0.1:0"));
  EXPECT_EQ(server.stats().opened, 0u);
  client.stop();
  EXPECT_FALSE(client.connect(address));
}

TEST_P(DestructionTest, loop_before_server_and_client_that_were_talking) {
  auto thread = std::make_unique<test::LoopThread>(options());
  test::ask(thread->loop(), [] {});
  Server server(thread->loop(), test::echoing());
  SocketAddress address = listen(server);
  auto callbacks = journal.callbacks();
  callbacks.on_open = [](Connection& connection) { connection.send("x"); };
  callbacks.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); };
  Client client(thread->loop(), std::move(callbacks), {.retry = {.attempts = 0, .reconnect = true}});
  ASSERT_TRUE(client.connect(address));
  ASSERT_TRUE(test::wait_until(thread->loop(), [&] { return server.connections() == 1; }));
  thread->loop().post([keep = std::make_shared<int>(1)] {});
  thread.reset();
  EXPECT_EQ(journal.lines(), std::vector<std::string>{"close: the loop stopped"});
  EXPECT_EQ(server.stats().closed, 1u);
}

TEST_P(DestructionTest, client_while_connecting) {
  auto server = serve(test::echoing());
  for (int round = 0; round < 50; ++round) {
    test::OwnedCalls owned;
    {
      Client client(loop(), owned.callbacks(), {.retry = {.attempts = 0, .reconnect = true}});
      ASSERT_TRUE(client.connect(address()));
      if (round % 2 == 1) ask([] {});
    }
    owned.end();
  }
  ASSERT_TRUE(wait_until([&] { return loop().engine().stats().accepts > 0; }));
}

TEST_P(DestructionTest, group_before_its_server) {
  auto group = LoopGroup::start(2, group_options()).value();
  Server server(*group, journal.callbacks(), group_server({.accept = AcceptMode::kRoundRobin}));
  SocketAddress address = listen(server);
  std::vector<RawPeer> peers = RawPeer::connected_many(address, 10);
  ASSERT_TRUE(noted("open", 10));
  group.reset();
  EXPECT_EQ(journal.count("close: the loop stopped"), 10u);
  EXPECT_EQ(server.stats().closed, 10u);
}

TEST_P(DestructionTest, one_loop_of_a_group_ends_before_the_others) {
  auto group = LoopGroup::start(2, group_options()).value();
  Server server(*group, journal.callbacks(), group_server({.accept = AcceptMode::kRoundRobin}));
  SocketAddress address = listen(server);
  (*group)[1].stop();
  // Every second connection is handed to a loop that has ended: it is closed and counted, and the others are not
  // affected.
  std::vector<RawPeer> peers(10);
  ASSERT_TRUE(wait_until([&] { return !(*group)[1].mailbox()->open(); }));
  for (RawPeer& peer : peers) peer.connect(address);
  ASSERT_TRUE(wait_until([&] {
    size_t ended = 0;
    for (RawPeer& peer : peers) ended += !peer.pump();
    return ended == 5 && journal.count("open") == 5;
  }));
  EXPECT_EQ(server.stats().lost_calls, 5u);
}

TEST_P(DestructionTest, loop_with_work_posted) {
  auto dead = std::make_shared<std::atomic<int>>(0);
  struct Work {
    explicit Work(std::shared_ptr<std::atomic<int>> count) : dead(std::move(count)) {}
    Work(Work&&) = default;
    ~Work() {
      if (dead) ++*dead;
    }
    void operator()() {}
    std::shared_ptr<std::atomic<int>> dead;
  };
  {
    auto idle = test::make_loop(options()).value();
    for (int i = 0; i < 10; ++i) idle->post(Work(dead));
    idle->after(std::chrono::hours(1), Work(dead));
  }
  EXPECT_EQ(*dead, 11);
}

PEAL_TEST_ON_EVERY_PORT(DestructionTest);

}  // namespace
}  // namespace peal
