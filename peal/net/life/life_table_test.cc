// SPDX-License-Identifier: BSD-3-Clause
// Plays the table of connection_life.h: in each open or ending state, each call and each act of a peer, and the state
// that follows. Before a connection is open there is no Connection& to call (handshake_test.cc has what peers and time
// do then). Every test asserts in Connection::enter() which state may follow which.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <peal/net/pipe.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using enum ConnectionLife;

// One server connection that is brought into a state, and its client.
class Stage {
 public:
  explicit Stage(test::SimPair& pair) : pair_(pair) {
    EXPECT_TRUE(client_.connect(pair.listen(server_)));
    EXPECT_TRUE(pair.run_until([this] { return here_ && there_; }));
  }

  // Brings the connection into `life` and calls `act` in that state. Returns the state after that.
  ConnectionLife in(ConnectionLife life, std::function<void(Connection&)> act) {
    std::optional<ConnectionLife> after;
    auto play = [&](Connection& connection) {
      EXPECT_EQ(connection.life(), life);
      act(connection);
      after = connection.life();
    };
    if (life == kReadingOut) {
      on_writable_ = play;
      bring_to(life);
      EXPECT_TRUE(pair_.run_until([&] { return after.has_value(); }));
    } else {
      bring_to(life);
      EXPECT_TRUE(call(here_, [&](Connection& connection) {
        if (life == kShowing) connection.resume();
        play(connection);
      }));
    }
    return after.value_or(kClosed);
  }
  // Brings the connection into `life` and lets the peer act. Returns the state some seconds later; kClosed if it was
  // released.
  ConnectionLife after_peer(ConnectionLife life, const std::function<void(Connection&)>& act) {
    bring_to(life);
    EXPECT_EQ(now(), life);
    EXPECT_TRUE(call(there_, act));
    pair_.run_for(std::chrono::seconds(1));
    return now();
  }
  ConnectionLife now() {
    ConnectionLife life = kClosed;
    call(here_, [&](Connection& connection) { life = connection.life(); });
    return life;
  }
  bool runs_until_closed() {
    return pair_.run_until([this] { return now() == kClosed; }, std::chrono::hours(1));
  }
  // Called once, with on_close.
  std::function<void(Connection&)> on_close;

 private:
  void bring_to(ConnectionLife life) {
    switch (life) {
      case kShowing:
      case kOrphaned:
      case kPaused:
        there_.send("some");
        EXPECT_TRUE(pair_.run_until([this] { return heard_ > 0; }));
        if (life == kOrphaned) there_.abort();
        break;
      case kReadingOut:
        there_.send("fill");
        EXPECT_TRUE(pair_.run_until([this] { return heard_ > 0; }));
        there_.abort();
        return;
      case kPiped:
        EXPECT_TRUE(other_client_.connect(address()));
        EXPECT_TRUE(pair_.run_until([this] { return static_cast<bool>(other_); }));
        here_.run([this](Connection& one) { other_.run([&one](Connection& two) { EXPECT_TRUE(pipe(one, two)); }); });
        break;
      case kEnding:
        call(there_, [](Connection& peer) { peer.pause(); });
        call(here_, [](Connection& connection) {
          connection.send(std::string(5'000'000, 'x'));
          connection.close();
        });
        break;
      case kLingering: here_.close(); break;
      default: break;
    }
    if (life == kShowing) life = kPaused;  // in() resumes it
    EXPECT_TRUE(pair_.run_until([&] { return now() == life; }));
  }
  // Calls `what` with the connection on its loop. Returns false if it was released.
  bool call(const ConnectionHandle& which, const std::function<void(Connection&)>& what) {
    bool done = false;
    which.run([&](Connection& connection) {
      what(connection);
      done = true;
    });
    pair_.run_until([&] { return done; }, std::chrono::milliseconds(1));
    return done;
  }
  SocketAddress address() {
    SocketAddress bound;
    call(here_, [&](Connection& connection) { bound = connection.local_address().value_or(SocketAddress()); });
    return bound;
  }

  test::SimPair& pair_;
  ConnectionHandle here_;
  ConnectionHandle other_;  // the second connection of the server
  ConnectionHandle there_;
  size_t heard_ = 0;
  std::function<void(Connection&)> on_writable_;
  Server server_{*pair_.here,
                 {.on_open = [this](Connection& connection) { (here_ ? other_ : here_) = connection.handle(); },
                  .on_message =
                      [this](Connection& connection, Buffer& input) {
                        heard_ += input.size();
                        if (input.view() == "some") return connection.pause();  // and leaves the input unconsumed
                        if (input.view() == "fill") connection.send(std::string(5'000'000, 'x'));
                        input.clear();
                      },
                  .on_writable =
                      [this](Connection& connection) {
                        if (on_writable_) std::exchange(on_writable_, nullptr)(connection);
                      },
                  .on_close =
                      [this](Connection& connection, CloseReason) {
                        if (on_close) std::exchange(on_close, nullptr)(connection);
                      }},
                 {.connection = {.linger_timeout = std::chrono::minutes(10), .write_window = std::chrono::hours(2)}}};
  Client client_{*pair_.there,
                 {.on_open = [this](Connection& connection) { there_ = connection.handle(); },
                  .on_message = [](Connection&, Buffer& input) { input.clear(); },
                  .on_peer_end = [](Connection&) {}}};  // with it, the connection stays open for sending
  Client other_client_{*pair_.there, {.on_peer_end = [](Connection&) {}}};
};

using Act = std::function<void(Connection&)>;

struct Cell {
  std::string_view call;
  Act act;
  std::vector<ConnectionLife> leads_to;  // from each of the states in the table's head
};

SimOptions calm() {
  SimOptions options;
  options.receive_buffer_bytes = options.send_buffer_bytes = 64 * 1024;
  return options;
}

class ConnectionLifeTable : public test::SimTest {
 protected:
  void play(const std::vector<ConnectionLife>& head, const std::vector<Cell>& cells, bool by_peer) {
    for (const Cell& cell : cells) {
      ASSERT_EQ(cell.leads_to.size(), head.size());
      for (size_t i = 0; i < head.size(); ++i) {
        on_seeds(1, calm(), [&](test::SimPair& pair) {
          Stage stage(pair);
          const ConnectionLife after = by_peer ? stage.after_peer(head[i], cell.act) : stage.in(head[i], cell.act);
          EXPECT_EQ(to_string(after), to_string(cell.leads_to[i])) << cell.call << " while " << to_string(head[i]);
        });
      }
    }
  }
};

TEST_F(ConnectionLifeTable, calls) {
  const std::vector head{kOpen, kShowing, kPaused, kOrphaned, kReadingOut, kPiped, kEnding, kLingering};
  const std::vector<Cell> cells{
      {"send",
       [](Connection& it) { it.send("x"); },
       {kOpen, kShowing, kPaused, kOrphaned, kReadingOut, kPiped, kEnding, kLingering}},
      {"report_drained",
       [](Connection& it) { it.report_drained(); },
       {kOpen, kShowing, kPaused, kOrphaned, kReadingOut, kPiped, kEnding, kLingering}},
      {"shutdown_send",
       [](Connection& it) { it.shutdown_send(); },
       {kOpen, kShowing, kPaused, kOrphaned, kReadingOut, kPiped, kEnding, kLingering}},
      {"pause",
       [](Connection& it) { it.pause(); },
       {kPaused, kPaused, kPaused, kOrphaned, kClosed, kPiped, kEnding, kLingering}},
      {"resume",
       [](Connection& it) { it.resume(); },
       {kOpen, kShowing, kShowing, kShowing, kReadingOut, kPiped, kEnding, kLingering}},
      {"await_input",
       [](Connection& it) { it.await_input(); },
       {kOpen, kShowing, kOpen, kOpen, kReadingOut, kPiped, kEnding, kLingering}},
      {"close",
       [](Connection& it) { it.close(); },
       {kEnding, kEnding, kEnding, kEnding, kEnding, kEnding, kEnding, kLingering}},
      {"abort",
       [](Connection& it) { it.abort(); },
       {kClosed, kClosed, kClosed, kClosed, kClosed, kClosed, kClosed, kClosed}},
  };
  play(head, cells, false);
}

// Until on_close has returned the user's code may still have the connection: no call does anything then.
TEST_F(ConnectionLifeTable, calls_behind_the_end) {
  const std::vector<Act> calls{
      [](Connection& it) { EXPECT_FALSE(it.send("x")); },
      [](Connection& it) { it.report_drained(); },
      [](Connection& it) { it.shutdown_send(); },
      [](Connection& it) { it.pause(); },
      [](Connection& it) { it.resume(); },
      [](Connection& it) { it.await_input(); },
      [](Connection& it) { it.expect_input(true); },
      [](Connection& it) { it.close(); },
      [](Connection& it) { it.abort(); },
  };
  for (const ConnectionLife life : {kOpen, kShowing, kPaused, kOrphaned, kReadingOut, kPiped, kEnding, kLingering}) {
    for (const Act& call : calls) {
      on_seeds(1, calm(), [&](test::SimPair& pair) {
        Stage stage(pair);
        stage.on_close = call;
        stage.in(life, [&](Connection& it) {
          it.abort();
          call(it);
          EXPECT_EQ(to_string(it.life()), to_string(kClosed));
        });
        EXPECT_TRUE(stage.runs_until_closed());
        EXPECT_FALSE(stage.on_close) << "on_close did not come";
      });
    }
  }
}

TEST_F(ConnectionLifeTable, what_the_peer_does) {
  // A connection is showing for only one turn. Reading out and orphaned ones have no peer any more.
  const std::vector head{kOpen, kPaused, kPiped, kEnding, kLingering};
  const std::vector<Cell> cells{
      {"bytes", [](Connection& peer) { peer.send("x"); }, {kOpen, kPaused, kPiped, kEnding, kLingering}},
      {"FIN", [](Connection& peer) { peer.shutdown_send(); }, {kClosed, kPaused, kPiped, kEnding, kClosed}},
      {"RST", [](Connection& peer) { peer.abort(); }, {kClosed, kOrphaned, kClosed, kClosed, kClosed}},
  };
  play(head, cells, true);
}

// The states that have a timer end by it; reading out ends by itself.
TEST_F(ConnectionLifeTable, what_time_does) {
  for (const ConnectionLife life : {kOrphaned, kReadingOut, kLingering}) {
    on_seeds(1, calm(), [&](test::SimPair& pair) {
      Stage stage(pair);
      stage.in(life, [](Connection&) {});
      EXPECT_TRUE(stage.runs_until_closed()) << to_string(life);
    });
  }
  on_seeds(1, calm(), [&](test::SimPair& pair) {
    Stage stage(pair);
    stage.in(kShowing, [](Connection&) {});
    pair.run_for(std::chrono::seconds(1));
    EXPECT_EQ(to_string(stage.now()), to_string(kPaused));  // paused again after the input was shown once more
  });
}

}  // namespace
}  // namespace peal
