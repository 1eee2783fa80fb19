// SPDX-License-Identifier: BSD-3-Clause
// The callbacks of a chat room share a list of handles. A handle held the set of connections that it belongs to, the
// set held the callbacks, and the callbacks held the list. This cycle outlived its server and leaked all three. Now a
// set whose owner is gone drops its callbacks together with its last connection.
#include <atomic>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

struct Room {
  explicit Room(std::atomic<bool>& flag) : dead(flag) {}
  ~Room() { dead = true; }
  std::vector<ConnectionHandle> members;
  std::atomic<bool>& dead;
};

class HandlesKeptByCallbacks : public test::NetTest {
 protected:
  ConnectionCallbacks chatting() {
    auto room = std::make_shared<Room>(dead);
    return {.on_open = [room, this](Connection& connection) {
      room->members.push_back(connection.handle());
      ++opened;
    }};
  }
  std::atomic<bool> dead = false;
  std::atomic<int> opened = 0;
};

TEST_P(HandlesKeptByCallbacks, die_with_a_server_destroyed_while_its_loop_runs) {
  auto server = serve(chatting());
  RawPeer peer = connect_peer();
  ASSERT_TRUE(wait_until([&] { return opened == 1; }));
  server.reset();
  EXPECT_TRUE(wait_until([&] { return dead.load(); }));
}

TEST_P(HandlesKeptByCallbacks, die_with_a_server_destroyed_after_its_loop) {
  auto server = serve(chatting());
  RawPeer peer = connect_peer();
  ASSERT_TRUE(wait_until([&] { return opened == 1; }));
  end_loop();
  EXPECT_FALSE(dead);
  server.reset();
  EXPECT_TRUE(dead);
}

TEST_P(HandlesKeptByCallbacks, die_with_a_client) {
  auto server = serve(test::echoing());
  {
    Client client(loop(), chatting());
    ASSERT_TRUE(client.connect(address()));
    ASSERT_TRUE(wait_until([&] { return opened == 1; }));
  }
  EXPECT_TRUE(wait_until([&] { return dead.load(); }));
}

PEAL_TEST_ON_EVERY_ENGINE(HandlesKeptByCallbacks);

}  // namespace
}  // namespace peal
