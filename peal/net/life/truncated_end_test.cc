// SPDX-License-Identifier: BSD-3-Clause
// A FIN without the layer's end mark before it: the peer may have sent everything, or an attacker has cut the stream
// off.

#include <string>

#include <peal/net/pipe.h>
#include <tests/support/net_rig.h>
#include <tests/support/sealed/sealed_peer.h>

namespace peal {
namespace {

using test::SealedPeer;

class TruncatedEndTest : public test::OverLayerTest {
 protected:
  // Returns the journal's callbacks; they also note the peer's end and the connection's error.
  ConnectionCallbacks noting() {
    ConnectionCallbacks callbacks = journal.callbacks();
    callbacks.on_open = [this](Connection& connection) { handle = connection.handle(); };
    callbacks.on_peer_end = [this](Connection&) { journal.add("end"); };
    callbacks.on_close = [this](Connection& connection, CloseReason reason) {
      error = connection.error();
      journal.add(std::string(to_string(reason)));
    };
    return callbacks;
  }

  std::error_code error;
};

const std::string kTold = "the peer ended too early";

TEST_P(TruncatedEndTest, is_no_end_of_the_peers) {
  auto server = serve_over_layer(noting());
  SealedPeer one = peer();
  one.send("all of it?");
  ASSERT_TRUE(noted("message 10"));
  one.raw.fin();
  ASSERT_TRUE(noted(kTold));
  EXPECT_EQ(error, make_error_code(Trouble::kTruncated));
  EXPECT_EQ(journal.lines().size(), 2u) << "it was told as an end too";
}

TEST_P(TruncatedEndTest, inside_a_record_delivers_nothing_of_it) {
  auto server = serve_over_layer(noting());
  SealedPeer one = peer();
  one.raw.send(test::sealed_text("half of it").substr(0, 9));
  one.raw.fin();
  ASSERT_TRUE(noted(kTold));
  EXPECT_EQ(journal.lines().size(), 1u);
}

// This side has sent its FIN, but the peer's answer is still to come.
TEST_P(TruncatedEndTest, after_shutdown_send_it_is_truncation) {
  ConnectionCallbacks callbacks = noting();
  callbacks.on_open = [](Connection& connection) { connection.shutdown_send(); };
  auto server = serve_over_layer(std::move(callbacks));
  SealedPeer one = peer();
  one.send("half an answer");
  ASSERT_TRUE(noted("message 14"));
  one.raw.fin();
  ASSERT_TRUE(noted(kTold));
}

// Further input is dropped, so no message can lack its end.
TEST_P(TruncatedEndTest, of_a_connection_that_closes_is_the_end_it_waits_for) {
  ConnectionCallbacks callbacks = noting();
  callbacks.on_message = [](Connection& connection, Buffer& input) {
    input.clear();
    connection.send("bye");
    connection.close();
  };
  auto server = serve_over_layer(std::move(callbacks));
  SealedPeer one = peer();
  one.send("I must go");
  ASSERT_TRUE(wait_until([&] { return one.ended(); }));
  one.raw.fin();
  ASSERT_TRUE(noted("closed here"));
  EXPECT_EQ(error, std::error_code());
  EXPECT_EQ(one.records(), (std::vector<std::string>{"bye", ""}));
}

// A relay that ended its other side in order would pass on a part of an answer as a whole one.
TEST_P(TruncatedEndTest, of_a_pipe_resets_the_other_side) {
  std::string upstream_end;
  ConnectionCallbacks ending;
  ending.on_close = [&](Connection&, CloseReason reason) { upstream_end = to_string(reason); };
  auto upstream = serve(std::move(ending));
  const SocketAddress upstream_address = address();
  auto proxy = serve_over_layer(noting());
  SealedPeer one = peer();
  ASSERT_TRUE(opened());
  bool piped = false;
  Client out(loop(), {.on_open = [&](Connection& back) {
               handle.run([&](Connection& here) { piped = pipe(here, back).has_value(); });
             }});
  ASSERT_TRUE(out.connect(upstream_address));
  ASSERT_TRUE(wait_until([&] { return piped; }));
  one.send("part of it");
  one.raw.fin();
  ASSERT_TRUE(wait_until([&] { return !upstream_end.empty(); }));
  EXPECT_EQ(upstream_end, "reset by the peer");
  ASSERT_TRUE(noted(kTold));
}

PEAL_TEST_ON_EVERY_ENGINE(TruncatedEndTest);

}  // namespace
}  // namespace peal
