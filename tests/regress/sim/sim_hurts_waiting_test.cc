// SPDX-License-Identifier: BSD-3-Clause
// Simulator tests for a server without fds that spins, for lookups that block the loop, for cancelled timers that fire,
// and for clients that all come back together. fd_exhaustion_..., dns_..., cancelled_timer_... and
// reconnect_storm_test.cc test the other engines.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <peal/net/resolver.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

ConnectionCallbacks echoing() {
  return {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }};
}

// A client that sends a byte again and again, each time after its echo has come.
struct Pinger {
  Pinger(Loop& loop, std::string_view target)
      : client(loop, {.on_open = [](Connection& connection) { connection.send("x"); },
                      .on_message =
                          [this](Connection& connection, Buffer& input) {
                            ++rounds;
                            connection.loop().after(milliseconds(1),
                                                    [handle = connection.handle()] { handle.send("x"); });
                            input.clear();
                          }}) {
    EXPECT_TRUE(client.connect(target));
  }
  int rounds = 0;
  Client client;
};

class SimFdExhaustion : public test::SimTest {};

TEST_F(SimFdExhaustion, pauses_counts_recovers_and_does_not_spin) {
  constexpr int kKnocks = 60;
  on_seeds(60, rough(), [&](test::SimPair& pair) {
    SimOptions& options = pair.world.options();
    Server server(*pair.here, echoing());
    const std::string target = pair.listen(server).to_string();
    Pinger pinger(*pair.there, target);
    ASSERT_TRUE(pair.run_until([&] { return pinger.rounds == 1; }));
    const EngineStats& engine = pair.here->engine().stats();
    const EngineStats before = engine;

    // The shortage of fds spares the clients: there are fds while they connect.
    std::deque<Client> clients;
    int told = 0;
    for (int i = 0; i < kKnocks; ++i) {
      clients.emplace_back(*pair.there, ConnectionCallbacks{.on_close = [&](Connection&, CloseReason) { ++told; }});
      ASSERT_TRUE(clients.back().connect(target));
      const uint64_t connects = pair.world.stats().connects;
      ASSERT_TRUE(pair.run_until([&] { return pair.world.stats().connects > connects; }));
      options.no_fd = 1;
      pair.run_for(milliseconds(50));
      options.no_fd = 0;
    }
    options.no_fd = 1;
    pair.run_for(seconds(2));
    EXPECT_GT(engine.accepts_failed, before.accepts_failed + 5);
    EXPECT_EQ(engine.accepts_failed, engine.accept_pauses);
    EXPECT_LE(engine.accept_pauses, before.accept_pauses + kKnocks);
    EXPECT_EQ(told, engine.accepts_shed) << "a client that was shed was not told";
    EXPECT_GE(told + static_cast<int>(server.connections()), kKnocks + 1);
    EXPECT_GT(pinger.rounds, 500) << "the connected client was not served";
    const uint64_t waits = engine.waits - before.waits;
    EXPECT_LT(waits, static_cast<uint64_t>(pinger.rounds) * 20 + kKnocks * 100) << "the loop spins";

    options.no_fd = 0;
    std::optional<Pinger> late;
    late.emplace(*pair.there, target);
    EXPECT_TRUE(pair.run_until([&] { return late->rounds == 1; }, seconds(3)));
  });
}

class SimNames : public test::SimTest {};

TEST_F(SimNames, lookup_can_be_cancelled_and_the_loop_goes_on) {
  on_seeds(200, rough(), [&](test::SimPair& pair) {
    Server server(*pair.here, echoing());
    const SocketAddress address = pair.listen(server);
    pair.world.names()["there.test"] = {address};
    Resolver resolver(*pair.there);
    Pinger pinger(*pair.there, "there.test:" + std::to_string(address.port()));
    int answered = 0;
    int failed = 0;
    int wrongly = 0;
    constexpr int kLookups = 100;
    for (int i = 0; i < kLookups; ++i) {
      const std::string host = i % 3 == 0 ? "nowhere.test" : "There.Test.";
      auto count = [&, i](const Result<Resolver::Addresses>& found) {
        if (i % 2 == 0) ++wrongly;
        ++(found ? answered : failed);
        if (!found) {
          EXPECT_EQ(found.error(), make_error_code(Trouble::kHostNotFound));
        }
        if (found) {
          EXPECT_EQ(found->front(), address);
        }
      };
      const Result<ResolveId> lookup = resolver.resolve(host, address.port(), {}, count);
      ASSERT_TRUE(lookup);
      if (i % 2 == 0) {
        EXPECT_TRUE(resolver.cancel(*lookup));
      }
      if (i % 10 == 0) pair.run_for(milliseconds(1));
    }
    EXPECT_TRUE(pair.run_until([&] { return resolver.pending() == 0 && pinger.rounds >= 100; }));
    EXPECT_EQ(answered + failed, kLookups / 2);
    EXPECT_EQ(wrongly, 0);
    EXPECT_EQ(resolver.stats().cancelled, static_cast<uint64_t>(kLookups / 2));
  });
}

TEST_F(SimNames, client_that_waits_for_a_name_can_be_stopped_and_destroyed) {
  on_seeds(200, SimOptions::hostile(), [&](test::SimPair& pair) {
    Server server(*pair.here, echoing());
    const SocketAddress address = pair.listen(server);
    const std::string target = "there.test:" + std::to_string(address.port());
    // The first address swallows whatever is sent to it.
    pair.world.names()["there.test"] = {SocketAddress::parse("192.0.2.1:1").value(), address};
    bool gone = false;
    auto count = [&] { EXPECT_FALSE(gone); };
    ConnectionCallbacks callbacks{.on_open = [&](Connection&) { count(); },
                                  .on_close = [&](Connection&, CloseReason) { count(); }};
    auto client = std::make_unique<Client>(*pair.there, std::move(callbacks), ClientOptions{},
                                           [&](std::error_code, Duration) { count(); });
    std::mt19937_64 random(pair.seed);
    for (int round = 0; round < 5; ++round) {
      ASSERT_TRUE(client->connect(target));
      // The stop may come before the lookup is done, after it, during the connection attempts, or after all of it.
      pair.run_for(std::chrono::microseconds(random() % (round % 2 == 0 ? 5 : 500'000)));
      client->stop();
    }
    if (pair.seed % 2 == 0) {
      ASSERT_TRUE(client->connect(target));
    }
    client.reset();
    gone = true;
    pair.run_for(minutes(1));
    EXPECT_EQ(pair.there->engine().stats().stale_calls, 0u);
  });
}

class SimCancelledTimer : public test::SimTest {};

TEST_F(SimCancelledTimer, never_fires_even_in_its_own_tick) {
  static constexpr size_t kTimers = 200;
  on_seeds(300, {}, [&](test::SimPair& pair) {
    std::mt19937_64 random(pair.seed);
    std::vector<TimerId> ids(kTimers);
    std::vector<bool> cancelled(kTimers, false);
    size_t fired = 0;
    const TimePoint now = pair.world.now();
    for (size_t i = 0; i < kTimers; ++i) {
      // Many timers are due in one tick, some in the next, and a few much later.
      const Duration delay = i % 16 == 0 ? Duration(seconds(random() % 100'000)) : milliseconds(5 + random() % 2);
      ids[i] = pair.there->at(now + delay, [&, i, due = now + delay] {
        ++fired;
        EXPECT_FALSE(cancelled[i]) << "a cancelled timer fired";
        EXPECT_GE(pair.world.now(), due) << "early";
        EXPECT_LE(pair.world.now(), due + milliseconds(1)) << "late";
        const size_t victim = random() % kTimers;
        if (pair.there->cancel(ids[victim])) cancelled[victim] = true;
      });
    }
    EXPECT_TRUE(pair.world.run_until_idle(std::chrono::hours(100)));
    const auto count = static_cast<size_t>(std::ranges::count(cancelled, true));
    EXPECT_EQ(fired + count, kTimers);
    EXPECT_GT(count, 0u);
  });
}

TEST_F(SimCancelledTimer, never_fires_if_an_event_of_its_turn_cancels_it) {
  on_seeds(100, rough(), [&](test::SimPair& pair) {
    TimerId timeout;
    bool cancelled = false;
    int fired = 0;
    int answered = 0;
    auto set_timeout = [&] {
      cancelled = false;
      timeout = pair.here->after(milliseconds(1), [&] {
        ++fired;
        EXPECT_FALSE(cancelled) << "a cancelled timer fired";
      });
    };
    Server server(*pair.here, {.on_message = [&](Connection& connection, Buffer& input) {
      cancelled = connection.loop().cancel(timeout);
      connection.send(std::move(input));
      if (++answered < 100) connection.loop().post(set_timeout);
    }});
    const Pinger pinger(*pair.there, pair.listen(server).to_string());
    EXPECT_TRUE(pair.run_until([&] { return answered == 100; }));
    EXPECT_GT(fired, 0);
    EXPECT_LT(fired, 100);
  });
}

class SimReconnectStorm : public test::SimTest {
 protected:
  static constexpr size_t kClients = 100;
  static ClientOptions patient() {
    ClientOptions options;
    options.retry = {.attempts = 0, .first_delay = seconds(1), .longest_delay = seconds(60), .reconnect = true};
    return options;
  }
};

TEST_F(SimReconnectStorm, clients_that_lose_one_server_do_not_come_back_together) {
  size_t worst = 0;
  on_seeds(100, {}, [&](test::SimPair& pair) {
    std::map<int64_t, size_t> per_10_ms;
    size_t opens = 0;
    auto server = std::make_unique<Server>(*pair.here, ConnectionCallbacks{});
    const SocketAddress address = pair.listen(*server);
    std::deque<Client> clients;
    auto tried = [&] { ++per_10_ms[pair.world.now().time_since_epoch() / milliseconds(10)]; };
    for (size_t i = 0; i < kClients; ++i) {
      clients.emplace_back(*pair.there, ConnectionCallbacks{.on_open = [&](Connection&) { ++opens; }}, patient(),
                           [&](std::error_code, Duration) { tried(); });
      ASSERT_TRUE(clients.back().connect(address));
    }
    ASSERT_TRUE(pair.run_until([&] { return opens == kClients; }));
    server.reset();
    pair.run_for(seconds(10));
    size_t tries = 0;
    for (const auto& [when, count] : per_10_ms) {
      worst = std::max(worst, count);
      tries += count;
    }
    EXPECT_GE(tries, 2 * kClients);
    Server again(*pair.here, {});
    EXPECT_EQ(pair.listen(again, address.to_string()), address);
    EXPECT_TRUE(pair.run_until([&] { return opens == 2 * kClients; }, minutes(2)));
  });
  // The 100 first attempts fall into half a second: on average, 2 into each 10 ms.
  EXPECT_LE(worst, 14u);
}

// The jitter of the delays comes from the world's seed, unless the options give a seed.
TEST_F(SimReconnectStorm, runs_in_the_same_way_with_the_same_seed) {
  auto play = [](uint64_t seed) {
    test::SimPair pair(seed, SimOptions::hostile());
    Server server(*pair.here, {.on_open = [](Connection& connection) { connection.abort(); }});
    const SocketAddress address = pair.listen(server);
    std::deque<Client> clients;
    for (int i = 0; i < 5; ++i) {
      clients.emplace_back(*pair.there, ConnectionCallbacks{}, patient());
      EXPECT_TRUE(clients.back().connect(address));
    }
    pair.run_for(minutes(10));
    return pair.world.trace_hash();
  };
  std::set<uint64_t> ways;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const uint64_t way = play(seed);
    EXPECT_EQ(play(seed), way) << "seed " << seed;
    ways.insert(way);
  }
  EXPECT_EQ(ways.size(), 20u);
}

}  // namespace
}  // namespace peal
