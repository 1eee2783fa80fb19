// SPDX-License-Identifier: BSD-3-Clause
// A callback paused its connection and left input unconsumed. resume() let the engine receive at once, but the kept
// input was shown only later, by a timer. The peer's FIN, which had waited in the kernel, was reported first and ended
// the connection. The kept input was dropped, although the user had been promised to see it again. Now the engine
// receives nothing until the kept input has been shown.
#include <gmock/gmock.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

class EndOvertakesKeptInput : public test::NetTest {};

TEST_P(EndOvertakesKeptInput, never_if_requests_are_read_one_at_a_time) {
  ConnectionHandle handle;
  auto callbacks = journal.callbacks();
  callbacks.on_message = [&](Connection& connection, Buffer& input) {
    handle = connection.handle();
    journal.add("saw " + input.to_string());
    input.consume(1);
    if (!input.empty()) connection.pause();
  };
  auto server = serve(std::move(callbacks));
  RawPeer peer = connect_peer();
  peer.send("abc");
  ASSERT_TRUE(noted("saw abc"));
  peer.fin();
  handle.run([](Connection& connection) { connection.resume(); });
  ASSERT_TRUE(noted("saw bc"));
  handle.run([](Connection& connection) { connection.resume(); });
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 5; }));
  EXPECT_THAT(journal.lines(), ElementsAre("open", "saw abc", "saw bc", "saw c", "close: closed by the peer"));
  ask([&] { handle = {}; });
}

PEAL_TEST_ON_EVERY_ENGINE(EndOvertakesKeptInput);

}  // namespace
}  // namespace peal
