// SPDX-License-Identifier: BSD-3-Clause
// A callback paused its connection and left input. resume() let the engine receive at once, and put showing the kept
// input on a timer: the peer's FIN, which had waited in the kernel, was told first and ended the connection, and the
// input that the user had been promised again was dropped. Receiving now waits until what was kept has been shown.
#include <gmock/gmock.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

class EndOvertakesKeptInput : public test::NetTest {};

TEST_P(EndOvertakesKeptInput, one_request_at_a_time) {
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
