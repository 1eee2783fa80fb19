// SPDX-License-Identifier: BSD-3-Clause
// Simulator tests in which an object dies in a callback while the loop, a timer or a connection of another loop still
// points at it. Seeds decide what else happens. something_dies_while_the_loop_still_points_at_it_test.cc tests the
// other engines.
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <tests/support/engines/dying_owners.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::array<std::string_view, 6> kSimPlaces{"open", "message", "writable", "peer end", "drain", "close"};
constexpr size_t kAnswer = 60'000;
constexpr uint64_t kSeeds = 300;

class SimSomethingDies : public test::SimTest {
 protected:
  static ConnectionCallbacks calling(const test::ActInCallback& act) {
    return test::acting(act, [](Connection& connection) {
      if (connection.sent_bytes() < kAnswer) connection.send(std::string(kAnswer, 'x'));
    });
  }
  static ConnectionOptions watched() {
    return {.high_water_bytes = 16 * 1024,
            .idle_timeout = seconds(10),
            .min_read_bytes = 1,
            .min_write_bytes = 1,
            .remember_peer = true};
  }
  static ServerOptions capped() {
    return {.connection = watched(), .max_connections = 10, .max_connections_per_address = 10};
  }
  static std::string_view place_of(const test::SimPair& pair) { return kSimPlaces[pair.seed % kSimPlaces.size()]; }

  // Three clients that send a request, read the answer, and end their side.
  struct Visitors {
    Visitors(test::SimPair& pair, const SocketAddress& target) {
      for (std::unique_ptr<Client>& client : clients) {
        client = std::make_unique<Client>(
            *pair.there,
            ConnectionCallbacks{.on_open = [](Connection& connection) { connection.send("hello"); },
                                .on_message =
                                    [](Connection& connection, Buffer& input) {
                                      input.clear();
                                      if (connection.received_bytes() >= kAnswer) connection.shutdown_send();
                                    }},
            ClientOptions{.connection = {.idle_timeout = seconds(20)}});
        EXPECT_TRUE(client->connect(target));
      }
    }
    std::array<std::unique_ptr<Client>, 3> clients;
  };

  // In a hostile world some runs do not reach their callback, but at least half of them must.
  void TearDown() override {
    if (all_seeds()) {
      for (size_t i = 0; i < kSimPlaces.size(); ++i) EXPECT_GE(deaths_[i] * 2, wanted_[i]) << kSimPlaces[i];
    }
    test::SimTest::TearDown();
  }
  void count(const test::SimPair& pair, bool died) {
    ++wanted_[pair.seed % kSimPlaces.size()];
    deaths_[pair.seed % kSimPlaces.size()] += died;
  }

 private:
  std::array<uint64_t, kSimPlaces.size()> wanted_{};
  std::array<uint64_t, kSimPlaces.size()> deaths_{};
};

TEST_F(SimSomethingDies, server_in_each_callback) {
  on_seeds(kSeeds, SimOptions::hostile(), [&](test::SimPair& pair) {
    const std::string_view where = place_of(pair);
    pair.here->enable_flight_recorder(256);
    std::unique_ptr<Server> server;
    bool dead = false;
    server = std::make_unique<Server>(*pair.here, calling([&](std::string_view here, Connection&) {
      EXPECT_FALSE(dead) << here;
      if (here != where) return;
      server.reset();
      dead = true;
    }),
                                      capped());
    Visitors visitors(pair, pair.listen(*server));
    if (where == "drain") {
      pair.here->after(milliseconds(2), [&] {
        server->drain(seconds(10), [&](const DrainReport&) {
          EXPECT_FALSE(dead) << "the drain reported after the end of the server";
        });
      });
    }
    count(pair, pair.run_until([&] { return dead; }, minutes(1)));
    pair.run_for(seconds(30));
  });
}

TEST_F(SimSomethingDies, client_in_each_callback) {
  on_seeds(kSeeds, SimOptions::hostile(), [&](test::SimPair& pair) {
    const std::string_view where = place_of(pair);
    if (where == "drain") return;
    Server server(*pair.here, {.on_message = [](Connection& connection, Buffer& input) {
      connection.send(std::move(input));
      if (connection.received_bytes() >= kAnswer) connection.close();
    }});
    std::unique_ptr<Client> client;
    bool dead = false;
    auto callbacks = calling([&](std::string_view here, Connection& connection) {
      EXPECT_FALSE(dead) << here;
      if (here == "open") connection.send(std::string(kAnswer, 'y'));
      if (here != where) return;
      client.reset();
      dead = true;
    });
    client =
        std::make_unique<Client>(*pair.there, std::move(callbacks),
                                 ClientOptions{.retry = {.attempts = 0, .reconnect = true}, .connection = watched()});
    ASSERT_TRUE(client->connect(pair.listen(server)));
    count(pair, pair.run_until([&] { return dead; }, minutes(10)));
    pair.run_for(seconds(30));
  });
}

TEST_F(SimSomethingDies, owner_of_a_handle_and_a_timer_in_each_callback) {
  on_seeds(kSeeds, SimOptions::hostile(), [&](test::SimPair& pair) {
    const std::string_view where = place_of(pair);
    std::atomic<int> alive = 0;
    bool dead = false;
    std::unique_ptr<test::TickingSession> session;
    Server server(*pair.here, calling([&](std::string_view here, Connection& connection) {
      if (here == "open" && !session && !dead) {
        session = std::make_unique<test::TickingSession>(connection, alive);
      }
      if (here != where || !session) return;
      session.reset();
      dead = true;
    }),
                  capped());
    Visitors visitors(pair, pair.listen(server));
    if (where == "drain") {
      pair.here->after(milliseconds(2), [&] { server.drain(seconds(10), [](const DrainReport&) {}); });
    }
    count(pair, pair.run_until([&] { return dead; }, minutes(1)));
    session.reset();
    EXPECT_EQ(alive, 0);
    EXPECT_TRUE(pair.run_until([&] { return server.connections() == 0; }));
  });
}

}  // namespace
}  // namespace peal
