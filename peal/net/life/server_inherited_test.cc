// SPDX-License-Identifier: BSD-3-Clause
// Servers on sockets that listen already, and how one server makes room for its successor.
#include <fcntl.h>

#include <deque>
#include <mutex>
#include <set>

#include <peal/engine/listening_socket.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

constexpr Duration kLongDrain = std::chrono::seconds(10);
constexpr Duration kSoonDrain = std::chrono::milliseconds(50);

class ServerInherited : public test::NetTest {
 protected:
  void SetUp() override {
    NetTest::SetUp();
    master_ = open_listening_socket(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
    address_ = listening_address(master_.get()).value();
  }
  void TearDown() override {
    master_.reset();
    NetTest::TearDown();
  }
  Fd copy() const { return Fd(::fcntl(master_.get(), F_DUPFD_CLOEXEC, 0)); }
  void expect_echo(RawPeer& peer, std::string_view bytes) {
    const size_t before = peer.received().size();
    peer.send(bytes);
    ASSERT_TRUE(wait_until([&] {
      peer.pump();
      return peer.received().size() == before + bytes.size();
    }));
  }

  Fd master_;
  SocketAddress address_;
};

TEST_P(ServerInherited, serves_on_one_loop_and_on_all_of_a_group) {
  for (const size_t loops : {1, 3}) {
    auto group = LoopGroup::start(loops, options()).value();
    std::mutex mutex;
    std::set<Loop*> used;
    SharedConnectionCallbacks callbacks = test::echoing();
    callbacks.on_open = [&](Connection& connection) {
      const std::lock_guard lock(mutex);
      used.insert(&connection.loop());
    };
    Server server(*group, std::move(callbacks));
    EXPECT_EQ(server.listen(copy(), true).value(), address_);
    std::deque<RawPeer> peers(6);
    for (RawPeer& peer : peers) {
      peer.connect(address_);
      expect_echo(peer, "hello");
    }
    const std::lock_guard lock(mutex);
    EXPECT_EQ(used.size(), loops);
  }
}

TEST_P(ServerInherited, what_does_not_listen_is_an_error) {
  Server server(loop(), {});
  EXPECT_EQ(server.listen(Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))).error(), std::errc::invalid_argument);
  EXPECT_FALSE(server.listen(Fd()).has_value());
}

// A worker makes room for its successor, and no client is refused, whether it comes before, meanwhile or afterwards.
TEST_P(ServerInherited, clients_stay_until_they_are_done_while_the_successor_takes_the_new_ones) {
  auto old = std::make_unique<Server>(loop(), test::echoing());
  ASSERT_TRUE(old->listen(copy()));
  RawPeer before = RawPeer::connected(address_);
  expect_echo(before, "one");
  std::vector<RawPeer> waiting = RawPeer::connected_many(address_, 5);
  Server fresh(loop(), test::echoing());
  ASSERT_TRUE(fresh.listen(copy()));
  auto report = drain(*old, kLongDrain, DrainMode::kWait);
  for (RawPeer& peer : waiting) expect_echo(peer, "waited");
  std::deque<RawPeer> later(5);
  for (RawPeer& peer : later) {
    peer.connect(address_);
    expect_echo(peer, "later");
  }
  expect_echo(before, "two");
  EXPECT_FALSE(reported(report));
  before.fin();
  for (RawPeer& peer : waiting) peer.fin();
  ASSERT_TRUE(wait_until([&] { return reported(report); }));
  EXPECT_EQ(report.get().forced, 0u);
  for (RawPeer& peer : later) expect_echo(peer, "still");
}

TEST_P(ServerInherited, clients_whose_protocol_can_tell_them_are_told) {
  SharedConnectionCallbacks callbacks = test::echoing();
  callbacks.on_drain = [](Connection& connection) {
    connection.send("no more");
    connection.close();
  };
  Server server(loop(), std::move(callbacks));
  ASSERT_TRUE(server.listen(copy()));
  RawPeer peer = RawPeer::connected(address_);
  expect_echo(peer, "hello");
  auto report = drain(server, kLongDrain, DrainMode::kWait);
  ASSERT_TRUE(drains(peer, report));
  EXPECT_EQ(peer.received(), "hellono more");
  EXPECT_EQ(report.get().finished, 1u);
}

TEST_P(ServerInherited, clients_that_are_waited_for_in_vain_are_cut_off) {
  Server server(loop(), test::echoing());
  ASSERT_TRUE(server.listen(copy()));
  RawPeer peer = RawPeer::connected(address_);
  expect_echo(peer, "hello");
  auto report = drain(server, kSoonDrain, DrainMode::kWait);
  ASSERT_TRUE(wait_until([&] { return reported(report); }));
  EXPECT_EQ(report.get().forced, 1u);
}

TEST_P(ServerInherited, who_waits_for_clients_may_still_be_told_to_ask_them) {
  Server server(loop(), test::echoing());
  ASSERT_TRUE(server.listen(copy()));
  RawPeer peer = RawPeer::connected(address_);
  expect_echo(peer, "hello");
  auto waiting = drain(server, kLongDrain, DrainMode::kWait);
  ask([] {});
  EXPECT_FALSE(reported(waiting));
  server.drain(kLongDrain, [](const DrainReport&) {});
  ASSERT_TRUE(drains(peer, waiting));
  EXPECT_EQ(waiting.get().finished, 1u);
}

PEAL_TEST_ON_EVERY_ENGINE(ServerInherited);

}  // namespace
}  // namespace peal
