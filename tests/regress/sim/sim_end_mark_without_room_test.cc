// SPDX-License-Identifier: BSD-3-Clause
// A TLS connection with an empty queue was closed at once if its peer had ended or was not waited for. Its close_notify
// was given to the socket. If the socket had no room for all of it, the rest was lost when the socket was closed. So a
// peer that had got every byte was told that bytes may be missing (CloseReason::kTruncated). Now the bytes with which a
// layer ends are sent like the output that was queued before them.
#include <optional>

#include <tests/support/sim_rig.h>
#include <tests/support/tls/sim_layers.h>

namespace peal {
namespace {

class SimEndMark : public test::SimTest {
 protected:
  static SimOptions cramped() {
    SimOptions faults = rough();
    faults.short_write = 0.5;
    faults.again = 0.3;
    return faults;
  }
  // How the two ends of a connection end, after each has sent something.
  struct Ends {
    std::optional<CloseReason> here, there;
  };
  static Ends talk(test::SimPair& pair, ConnectionCallbacks serving, ConnectionCallbacks calling) {
    const test::SimTlsLayers layers(pair.seed, &pair.world);
    Ends ends;
    serving.on_close = [&](Connection&, CloseReason reason) { ends.here = reason; };
    calling.on_close = [&](Connection&, CloseReason reason) { ends.there = reason; };
    Server server(*pair.here, std::move(serving), {.connection = {.layer = &layers.server()}});
    ClientOptions options{.connection = {.layer = &layers.client()}};
    options.connect.host = layers.host();
    Client client(*pair.there, std::move(calling), options);
    EXPECT_TRUE(client.connect(pair.listen(server)));
    EXPECT_TRUE(pair.run_until([&] { return ends.here && ends.there; }));
    return ends;
  }
};

TEST_F(SimEndMark, is_sent_by_the_side_that_ends_last) {
  on_seeds(60, cramped(), [](test::SimPair& pair) {
    const Ends ends = talk(pair, {.on_open = [](Connection& connection) { connection.send("hello"); }},
                           {.on_open = [](Connection& connection) { connection.shutdown_send(); },
                            .on_message = [](Connection&, Buffer& input) { input.clear(); }});
    EXPECT_EQ(ends.here, CloseReason::kPeerClosed);
    EXPECT_EQ(ends.there, CloseReason::kPeerClosed);
  });
}

TEST_F(SimEndMark, is_sent_by_a_side_that_does_not_wait_for_its_peer) {
  on_seeds(60, cramped(), [](test::SimPair& pair) {
    const Ends ends = talk(pair,
                           {.on_message =
                                [](Connection& connection, Buffer& input) {
                                  input.clear();
                                  connection.close_when_sent();
                                }},
                           {.on_open = [](Connection& connection) { connection.send("hello"); }});
    EXPECT_EQ(ends.here, CloseReason::kLocal);
    // The client's own close_notify may meet a socket that is gone.
    EXPECT_NE(ends.there, CloseReason::kTruncated);
  });
}

}  // namespace
}  // namespace peal
