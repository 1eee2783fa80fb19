// SPDX-License-Identifier: BSD-3-Clause
// Destroying a Server or Client promises that none of its callbacks begins afterwards. It asked the loop to see to that
// through a post, and a refused post was taken for "the loop is over". Three ways led past that:
//   - the loop was ending: it refuses posts from the first moment, and then tells every connection that it stops;
//   - the mailbox was full for somebody else's sake;
//   - a client that had been started, and destroyed before its loop ran: its first task found it gone and connected.
// Now the end of an owner cannot be refused by a full mailbox, and waits until an ending loop has been left.
#include <optional>
#include <thread>

#include <tests/support/engines/dying_owners.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

class CallbacksAfterTheirOwnersEnd : public test::NetTest {};

TEST_P(CallbacksAfterTheirOwnersEnd, while_the_loop_is_ending) {
  // Many connections make the end long.
  for (int round = 0; round < 10; ++round) {
    test::OwnedCalls by_server;
    test::OwnedCalls by_client;
    test::LoopThread thread(options());
    test::ask(thread.loop(), [] {});
    auto server = std::make_unique<Server>(thread.loop(), by_server.callbacks());
    SocketAddress there = server->listen("127.0.0.1:0").value();
    auto client = std::make_unique<Client>(thread.loop(), by_client.callbacks());
    ASSERT_TRUE(client->connect(there));
    std::vector<RawPeer> peers = RawPeer::connected_many(there, 200);
    ASSERT_TRUE(test::wait_until(thread.loop(), [&] { return *by_server.calls == 201 && *by_client.calls == 1; }));
    thread.loop().stop();
    while (thread.loop().mailbox()->open()) std::this_thread::yield();
    client.reset();
    by_client.end();
    server.reset();
    by_server.end();
  }
}

TEST_P(CallbacksAfterTheirOwnersEnd, while_the_mailbox_is_full) {
  test::LoopThread small({.engine = std::string(GetParam()), .post_limit = 1});
  test::ask(small.loop(), [] {});
  test::OwnedCalls owned;
  auto server = std::make_unique<Server>(small.loop(), owned.callbacks());
  SocketAddress there = server->listen("127.0.0.1:0").value();
  auto client = std::make_unique<Client>(small.loop(), owned.callbacks());
  ASSERT_TRUE(client->connect(there));
  ASSERT_TRUE(test::wait_until(small.loop(), [&] { return *owned.calls == 2; }));
  std::optional<test::Standstill> standstill(small.loop());
  test::fill_mailbox(small.loop());
  std::jthread later([&] { standstill.reset(); });
  client.reset();
  server.reset();
  owned.end();
  EXPECT_TRUE(test::wait_until(small.loop(), [turns = 0]() mutable { return ++turns == 10; }));
}

TEST_P(CallbacksAfterTheirOwnersEnd, of_a_client_that_was_started_before_its_loop_ran) {
  auto server = serve(test::echoing());
  auto idle = test::make_loop(options()).value();
  test::OwnedCalls owned;
  {
    Client client(*idle, owned.callbacks());
    ASSERT_TRUE(client.connect(address()));
  }
  owned.end();
  idle->after(std::chrono::milliseconds(20), [&] { idle->stop(); });
  EXPECT_TRUE(idle->run());
}

PEAL_TEST_ON_EVERY_ENGINE(CallbacksAfterTheirOwnersEnd);

}  // namespace
}  // namespace peal
