// SPDX-License-Identifier: BSD-3-Clause
// A client was stopped and started again before its old connection had ended. The end of the old connection was taken
// for the end of the new one:
// - If the old connection was open, the client gave up: it did not reconnect any more, and a third start was allowed
//   beside the second.
// - If the old attempt was cancelled, its ECANCELED disarmed the deadline of the new attempt and was reported to the
//   user as a failure. It also began one more attempt, so the client had two connections.
//
// Now each report names its connection.

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;

class RestartedClient : public test::NetTest {
 protected:
  static constexpr RetryOptions kQuick{
      .attempts = 0, .first_delay = milliseconds(1), .longest_delay = milliseconds(2), .reconnect = true};
  void some_turns() {
    ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 30; }));
  }
};

TEST_P(RestartedClient, whose_old_connection_lingers_still_reconnects) {
  // The server does not close its side when the peer's FIN comes. It waits until the test closes it.
  std::vector<ConnectionHandle> at_server;
  auto server = serve({.on_open = [&](Connection& connection) { at_server.push_back(connection.handle()); },
                       .on_peer_end = [](Connection&) {}});
  Client client(loop(), journal.callbacks(), {.retry = kQuick});
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(wait_until([&] { return at_server.size() == 1 && journal.count("open") == 1; }));
  client.stop();
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(wait_until([&] { return at_server.size() == 2 && journal.count("open") == 2; }));
  ask([&] { at_server[0].close(); });
  ASSERT_TRUE(noted("close: closed here"));
  EXPECT_EQ(test::error_of(client.connect(address())), errno_code(EALREADY));
  ask([&] { at_server[1].abort(); });
  ASSERT_TRUE(noted("open", 3));
  ask([&] { at_server.clear(); });
}

TEST_P(RestartedClient, whose_old_attempt_is_cancelled_has_one_connection) {
  auto server = serve(test::echoing());
  Client client(loop(), journal.callbacks(), {.retry = kQuick},
                [&](std::error_code error, Duration) { journal.add("failed: " + error.message()); });
  ask([&] {
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(client.connect(address()));
      client.stop();
    }
    ASSERT_TRUE(client.connect(address()));
  });
  ASSERT_TRUE(noted("open"));
  some_turns();
  EXPECT_EQ(journal.lines(), std::vector<std::string>{"open"});
  EXPECT_EQ(server->connections(), 1u);
}

PEAL_TEST_ON_EVERY_ENGINE(RestartedClient);

}  // namespace
}  // namespace peal
