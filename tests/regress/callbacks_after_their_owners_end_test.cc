// SPDX-License-Identifier: BSD-3-Clause
// The destructor of a Server or Client promises that no callback of it begins afterwards. To make sure of that, the
// destructor posted a task to the loop. If the post was refused, the destructor assumed that the loop had ended. In
// three cases a callback was called nevertheless:
// - The loop was ending. An ending loop refuses posts from the first moment on, and only then calls on_close of its
//   connections.
// - The mailbox was full of other tasks.
// - A client was started, and then destroyed before its loop ran. The client's first task found it gone and connected
//   nevertheless.
//
// Now a full mailbox cannot refuse the end of an owner. If the loop is ending, the destructor waits until the loop's
// thread has left it.
#include <optional>
#include <thread>

#include <tests/support/engines/dying_owners.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

class CallbacksAfterTheirOwnersEnd : public test::NetTest {};

TEST_P(CallbacksAfterTheirOwnersEnd, do_not_begin_while_the_loop_is_ending) {
  // Many connections make the end of the loop take long.
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

TEST_P(CallbacksAfterTheirOwnersEnd, do_not_begin_while_the_mailbox_is_full) {
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

TEST_P(CallbacksAfterTheirOwnersEnd, do_not_begin_for_a_client_destroyed_before_its_loop_ran) {
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
