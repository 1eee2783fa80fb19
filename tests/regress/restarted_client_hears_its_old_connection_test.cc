// SPDX-License-Identifier: BSD-3-Clause
// A client was stopped and started again before its old connection had ended. The old one's end was taken for the new
// one's: an open one's end made the client give up (no reconnect any more, and a third start allowed beside the
// second), and a cancelled attempt's ECANCELED disarmed the new attempt's deadline, was told to the user as a failure
// and began one attempt more, so that the client had two connections. What is told now names its connection.

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
  // The server takes its time to end: it waits to be told.
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
