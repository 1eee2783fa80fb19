// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a connection whose layer is started later, on every engine and in the simulator. Which callbacks come
// when, how a client treats clear text after the server's go-ahead, and how drains, caps and deadlines work.
#include <string>

#include <gmock/gmock.h>

#include <tests/support/net_rig.h>
#include <tests/support/sealed/sealed_port.h>
#include <tests/support/stepped_loop.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

// The client sends "start\n" first and talks once the layer is ready. The server answers "go\n" and, over the layer,
// echoes each message. `journal` has the events, the client's with a "c " and the server's with an "s " before it.
class TwoEnds {
 public:
  ConnectionCallbacks serving() {
    ConnectionCallbacks callbacks = noting("s ");
    callbacks.on_open = [this](Connection& connection) { here = connection.handle(); };
    callbacks.on_message = [this](Connection& connection, Buffer& input) {
      if (server_secured) {
        journal.add("s hears " + input.to_string());
        connection.send(std::move(input));
        return;
      }
      if (!input.view().contains('\n')) return;
      EXPECT_EQ(input.take(input.view().find('\n') + 1).to_string(), "start\n");
      connection.send(go);
      if (server_starts) connection.start_layer();
    };
    callbacks.on_secured = [this](Connection&) {
      server_secured = true;
      journal.add("s secured");
    };
    return callbacks;
  }
  ConnectionCallbacks asking() {
    ConnectionCallbacks callbacks = noting("c ");
    callbacks.on_open = [this](Connection& connection) {
      there = connection.handle();
      connection.send("start\n");
    };
    callbacks.on_message = [this](Connection& connection, Buffer& input) {
      if (client_secured) {
        heard += input.to_string();
        return input.clear();
      }
      if (!input.view().contains('\n')) return;
      EXPECT_EQ(input.take(input.view().find('\n') + 1).to_string(), "go\n");
      if (client_starts) client_starting = connection.start_layer("example.org");
    };
    callbacks.on_secured = [this](Connection& connection) {
      client_secured = true;
      journal.add("c secured, to " + connection.layer_facts()->peer);
      connection.send(says);
    };
    return callbacks;
  }

  const test::SealedLayer layer;
  test::Journal journal;
  std::string go = "go\n";
  std::string says = "hello";
  std::string heard;
  bool server_starts = true;
  bool client_starts = true;
  bool server_secured = false;
  bool client_starting = false;
  bool client_secured = false;
  ConnectionHandle here;
  ConnectionHandle there;
  std::error_code error;  // of the client that ended last with an error

 private:
  ConnectionCallbacks noting(std::string who) {
    ConnectionCallbacks callbacks;
    callbacks.on_close = [this, who = std::move(who)](Connection& connection, CloseReason reason) {
      if (connection.error() && who == "c ") error = connection.error();
      journal.add(who + std::string(to_string(reason)));
    };
    return callbacks;
  }
};

class StartLayerPairTest : public test::SteppedLoopTest, public TwoEnds {
 protected:
  static constexpr Duration kNotInThisTest = seconds(100);

  void TearDown() override {
    client.reset();
    server.reset();
    here = there = {};
    SteppedLoopTest::TearDown();
  }
  const SocketAddress& address() const { return address_; }
  void serve(const ServerOptions& options = {}) {
    server.emplace(loop(), serving(), test::starting_later(layer, options));
    address_ = server->listen("127.0.0.1:0").value();
  }
  void connect(const ClientOptions& options = {}) {
    client.emplace(loop(), asking(), test::starting_later(layer, options));
    EXPECT_TRUE(client->connect(address_));
  }
  testing::AssertionResult told(const std::string& line, size_t times = 1) {
    return run_until([this, line, times] { return journal.count(line) >= times; });
  }
  // True when the server's only connection waits for its peer's handshake.
  testing::AssertionResult server_waits() {
    return run_until([this] {
      const std::vector<ConnectionFacts> all = server->views().front().list(1);
      return all.size() == 1 && all[0].state == "handshaking";
    });
  }
  void client_starts_now() {
    client_starts = true;
    EXPECT_TRUE(there.run([](Connection& connection) { EXPECT_TRUE(connection.start_layer("example.org")); }));
  }

  std::optional<Server> server;
  std::optional<Client> client;

 private:
  SocketAddress address_;
};

TEST_P(StartLayerPairTest, both_start_and_talk) {
  serve();
  connect();
  ASSERT_TRUE(run_until([&] { return heard == "hello"; }));
  there.close();
  ASSERT_TRUE(run_until([&] { return journal.lines().size() == 5; }));
  std::vector<std::string> lines = journal.lines();
  std::ranges::sort(lines);
  EXPECT_THAT(lines, ElementsAre("c closed here", "c secured, to example.org", "s closed by the peer", "s hears hello",
                                 "s secured"));
  EXPECT_EQ(client->stats().opened, 1u);
}

// Clear text that an attacker put after the go-ahead is not taken for an answer of the server over the layer.
TEST_P(StartLayerPairTest, plaintext_injected_behind_the_go_ahead_ends_the_client) {
  go = "go\n250 evil\n";
  serve();
  server_starts = false;
  connect();
  ASSERT_TRUE(told("c the socket failed"));
  EXPECT_EQ(error, test::no_seal_hello());
  EXPECT_EQ(heard, "");
  EXPECT_EQ(client->stats().handshakes_failed, 1u);
  EXPECT_FALSE(client_secured);
}

TEST_P(StartLayerPairTest, client_has_its_deadline_and_connects_anew_if_asked) {
  server_starts = false;
  serve();
  ClientOptions options{.retry = {.first_delay = milliseconds(1), .longest_delay = milliseconds(2), .reconnect = true},
                        .connection = {.handshake_timeout = milliseconds(5)}};
  connect(options);
  ASSERT_TRUE(told("c the socket failed", 3));
  EXPECT_EQ(error, errno_code(ETIMEDOUT));
  client->stop();
  ASSERT_TRUE(run_until([&] { return client->stats().opened == client->stats().closed; }));
}

TEST_P(StartLayerPairTest, client_may_be_stopped_or_destroyed_meanwhile) {
  server_starts = false;
  serve();
  for (const bool destroyed : {false, true}) {
    client_starting = false;
    connect();
    ASSERT_TRUE(run_until([&] { return client_starting; }));
    if (destroyed) {
      client.reset();
    } else {
      client->stop();
    }
    ASSERT_TRUE(run_until([&] { return server->connections() == 0; }));
  }
  EXPECT_EQ(journal.count("c closed here"), 1u) << "once by stop(); a client that is gone calls nothing";
}

TEST_P(StartLayerPairTest, drain_waits_for_it_and_then_asks) {
  client_starts = false;
  serve({.connection = {.handshake_timeout = kNotInThisTest}});
  connect();
  ASSERT_TRUE(server_waits());
  std::optional<DrainReport> report;
  server->drain(kNotInThisTest, [&](const DrainReport& done) { report = done; });
  for (int turn = 0; turn < 10; ++turn) loop().post([] {}), loop().step();
  EXPECT_FALSE(report.has_value());
  EXPECT_THAT(journal.lines(), testing::IsEmpty());
  client_starts_now();
  ASSERT_TRUE(run_until([&] { return report.has_value(); }));
  EXPECT_EQ(report->finished, 1u);
  EXPECT_EQ(report->forced, 0u);
  EXPECT_EQ(journal.count("s closed here"), 1u);
  EXPECT_TRUE(server_secured);
}

TEST_P(StartLayerPairTest, drain_cuts_it_off_at_its_deadline) {
  client_starts = false;
  serve({.connection = {.handshake_timeout = kNotInThisTest}});
  connect();
  ASSERT_TRUE(server_waits());
  std::optional<DrainReport> report;
  server->drain(milliseconds(5), [&](const DrainReport& done) { report = done; });
  ASSERT_TRUE(run_until([&] { return report.has_value(); }));
  EXPECT_EQ(report->forced, 1u);
  EXPECT_EQ(journal.count("s still open at the deadline of the drain"), 1u);
}

// A connection whose layer is starting may be evicted, as one in its first handshake, unless it is busy.
TEST_P(StartLayerPairTest, half_done_it_is_evicted_unless_busy) {
  for (const bool busy : {false, true}) {
    client_starts = false;
    serve({.connection = {.handshake_timeout = kNotInThisTest}, .max_connections = 1});
    connect();
    ASSERT_TRUE(server_waits());
    ConnectionHandle first = here;
    if (busy) first.run([](Connection& connection) { connection.set_busy(true); });
    int newcomers = 0;
    Client newcomer(loop(), {.on_close = [&](Connection&, CloseReason) { ++newcomers; }});
    ASSERT_TRUE(newcomer.connect(address()));
    ASSERT_TRUE(busy ? run_until([&] { return newcomers == 1; }) : told("s idle when the server was full"));
    EXPECT_EQ(server->stats().evicted, busy ? 0u : 1u);
    EXPECT_EQ(server->stats().refused, busy ? 1u : 0u);
    client.reset();
    newcomer.stop();
    ASSERT_TRUE(run_until([&] { return server->connections() == 0; }));
  }
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(StartLayerPairTest);

}  // namespace
}  // namespace peal
