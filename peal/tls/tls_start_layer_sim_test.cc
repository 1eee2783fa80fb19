// SPDX-License-Identifier: BSD-3-Clause
// Tests connections that switch to TLS (start_layer()) in a simulated network, which cuts and delays the bytes before
// and after the switch as the seed decides.
#include <optional>
#include <string>

#include <tests/support/net_rig.h>
#include <tests/support/sim_rig.h>
#include <tests/support/tls/sim_layers.h>

namespace peal {
namespace {

// A client and a server that switch to TLS. The client sends "start" when the greeting has arrived, and the server
// answers "go". Then the client sends its text over TLS, and the server echoes it. `behind_start` and `behind_go` are
// bytes that an attacker injects after these lines.
class Turn {
 public:
  explicit Turn(test::SimPair& its_pair) : pair(its_pair), layers_(pair.seed, &pair.world) {}
  // Runs until both connections have ended or connecting has failed. Returns false if that does not happen.
  bool run() {
    server_.emplace(*pair.here, talking(here, false), test::starting_later<ServerOptions>(layers_.server()));
    ClientOptions calling = test::starting_later<ClientOptions>(layers_.client());
    calling.connect.host = layers_.host();
    client_.emplace(*pair.there, talking(there, true), calling, [this](std::error_code, Duration) { failed = true; });
    EXPECT_TRUE(client_->connect(pair.listen(*server_)));
    return pair.run_until([&] { return failed || (here.end && there.end); });
  }

  struct Side {
    std::string line, text;
    bool secured = false;
    std::optional<CloseReason> end;
  };
  test::SimPair& pair;
  const std::string greeting = std::string(1 + pair.seed * 7919 % 300'000, 'x') + "\n";
  const std::string text = pattern(1 + pair.seed * 977 % 100'000);
  std::string behind_start, behind_go;
  Side here, there;
  bool failed = false;  // True if connecting has failed.

 private:
  ConnectionCallbacks talking(Side& side, bool is_client) {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this, is_client](Connection& connection) {
      if (!is_client) connection.send(greeting);
    };
    callbacks.on_message = [this, &side, is_client](Connection& connection, Buffer& input) {
      if (side.secured) return hear(connection, side, is_client, input);
      const size_t end = input.view().find('\n');
      if (end == std::string_view::npos) return;
      side.line = input.take(end + 1).to_string();
      if (!is_client) connection.send("go\n" + behind_go);
      if (is_client && side.line == greeting) {
        connection.send("start\n" + behind_start);
        return;
      }
      EXPECT_TRUE(connection.start_layer());
    };
    callbacks.on_secured = [this, &side, is_client](Connection& connection) {
      side.secured = true;
      if (is_client) connection.send(text);
    };
    callbacks.on_close = [&side](Connection&, CloseReason reason) { side.end = reason; };
    return callbacks;
  }
  void hear(Connection& connection, Side& side, bool is_client, Buffer& input) {
    side.text += input.view();
    if (!is_client) {
      connection.send(std::move(input));
      return;
    }
    input.clear();
    if (side.text.size() == text.size()) connection.close();
  }

  const test::SimTlsLayers layers_;
  std::optional<Server> server_;
  std::optional<Client> client_;
};

class TlsStartLayerSim : public test::SimTest {};

TEST_F(TlsStartLayerSim, every_byte_arrives_on_its_side_of_the_turn) {
  on_seeds(100, rough(), [](test::SimPair& pair) {
    Turn turn(pair);
    ASSERT_TRUE(turn.run());
    EXPECT_TRUE(same_bytes(turn.there.line, "go\n"));
    EXPECT_EQ(turn.here.line, "start\n");
    EXPECT_TRUE(same_bytes(turn.here.text, turn.text));
    EXPECT_TRUE(same_bytes(turn.there.text, turn.text));
    EXPECT_EQ(turn.here.end, CloseReason::kPeerClosed);
    EXPECT_EQ(turn.there.end, CloseReason::kLocal);
  });
}

TEST_F(TlsStartLayerSim, what_is_injected_arrives_nowhere_however_it_is_cut) {
  on_seeds(100, rough(), [](test::SimPair& pair) {
    Turn turn(pair);
    (pair.seed % 2 == 0 ? turn.behind_start : turn.behind_go) = std::string(1 + pair.seed % 5, 'e') + "vil\n";
    ASSERT_TRUE(turn.run());
    EXPECT_EQ(turn.here.text + turn.there.text, "");
    EXPECT_FALSE(turn.here.secured || turn.there.secured);
    EXPECT_EQ(turn.here.line, "start\n");
    EXPECT_EQ(turn.there.line, "go\n");
  });
}

// Any byte may be lost here. If a connection still reports that the peer closed it, the whole text must have arrived.
TEST_F(TlsStartLayerSim, whatever_is_lost_is_told) {
  on_seeds(100, SimOptions::hostile(), [](test::SimPair& pair) {
    Turn turn(pair);
    turn.run();
    EXPECT_TRUE(turn.text.starts_with(turn.there.text));
    if (turn.here.end == CloseReason::kPeerClosed) {
      EXPECT_TRUE(same_bytes(turn.here.text, turn.text));
    }
  });
}

}  // namespace
}  // namespace peal
