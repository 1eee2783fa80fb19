// SPDX-License-Identifier: BSD-3-Clause
// A TLS record has up to 16 KiB, and no byte of it can be read before all of it has arrived. Two things went wrong with
// half a record:
// - It lay in a buffer of OpenSSL. 2,500 peers that each sent half a record took 41 MB, of which the memory budget
//   counted 40 KB. None of them was cut off, because a connection that has nothing for its callback was treated as
//   idle.
// - A peer that sent 16,000 bytes at 2,000 bytes per second was cut off by `min_read_bytes` of 500, because only whole
//   records counted as arriving. Without TLS the same peer is fast enough.
#include <deque>
#include <optional>
#include <string>

#include <openssl/ssl.h>

#include <peal/base/memory/memory_budget.h>
#include <peal/coro/co_server.h>
#include <peal/coro/sleep.h>
#include <peal/http/server/http_server.h>
#include <peal/tls/tls_server_context.h>
#include <tests/support/allocated_bytes.h>
#include <tests/support/tls/sim_secrets.h>
#include <tests/support/tls/sim_tls_peer.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test::SimTlsPeer;

constexpr size_t kHalvedBytes = 16'000;

std::unique_ptr<TlsServerContext> sim_context() {
  TlsServerOptions options{.clock = test::sim_clock};
  options.certificates.push_back(
      {.chain_pem = std::string(test::kSimCertificate), .key_pem = std::string(test::kSimKey)});
  return TlsServerContext::make(std::move(options)).value();
}

// A server that consumes its input as soon as it has at least message_bytes.
struct SlowPeersServer {
  explicit SlowPeersServer(test::SimPair& its_pair, ConnectionOptions options = {}, size_t max_connections = 0)
      : pair(its_pair), clock(its_pair.world) {
    options.layer = context.get();
    options.handshake_timeout = hours(1);
    server.emplace(*pair.here,
                   ConnectionCallbacks{.on_message =
                                           [this](Connection&, Buffer& input) {
                                             if (input.size() < message_bytes) return;
                                             heard += input.size();
                                             input.clear();
                                           },
                                       .on_close =
                                           [this](Connection&, CloseReason why) {
                                             reason = why;
                                             ended_at = pair.world.now();
                                           }},
                   ServerOptions{.connection = options, .max_connections = max_connections});
    address = pair.listen(*server);
  }
  NetStats stats() const { return server->stats(); }

  test::SimPair& pair;
  const test::SimClock clock;
  const std::unique_ptr<TlsServerContext> context = sim_context();
  size_t message_bytes = 1;
  size_t heard = 0;
  std::optional<CloseReason> reason;
  TimePoint ended_at = kNever;
  std::optional<Server> server;
  SocketAddress address;
};

// A peer that has finished its handshake. From now on it sends only as much of its output as the test wants.
struct HalvingPeer : SimTlsPeer {
  HalvingPeer(test::SimPair& pair, const SocketAddress& address) : SimTlsPeer(pair, address) {
    EXPECT_TRUE(is_open());
    holds_back();
  }
  void say_record() { say(std::string(kHalvedBytes, 'x')); }
  void send_rest() { send(unsent.size()); }
  void send_half_a_record() {
    say_record();
    send(kHalvedBytes / 2);
  }
};

class SimHalfRecords : public test::SimTest {
 protected:
  static constexpr ConnectionOptions kFiveHundredASecond{.min_read_bytes = 500, .read_window = seconds(1)};
};

TEST_F(SimHalfRecords, slow_records_are_judged_by_the_bytes_that_arrive) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair, kFiveHundredASecond);
    if (pair.seed % 2 == 1) service.message_bytes = 3 * kHalvedBytes;
    HalvingPeer peer(pair, service.address);
    for (int i = 0; i < 3; ++i) peer.say_record();
    peer.drip(200);
    EXPECT_TRUE(pair.run_until([&] { return service.heard == 3 * kHalvedBytes; }, seconds(1)));
    pair.run_for(minutes(1));
    EXPECT_FALSE(service.reason) << to_string(*service.reason);
  });
}

TEST_F(SimHalfRecords, half_a_record_is_cut_off_and_silence_between_two_records_is_not) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair, kFiveHundredASecond);
    HalvingPeer peer(pair, service.address);
    pair.run_for(minutes(1));
    peer.say_record();
    peer.send_rest();
    pair.run_for(minutes(1));
    ASSERT_FALSE(service.reason);
    EXPECT_EQ(service.heard, kHalvedBytes);
    const TimePoint began = pair.world.now();
    peer.send_half_a_record();
    ASSERT_TRUE(pair.run_until([&] { return service.reason.has_value(); }));
    EXPECT_EQ(service.reason, CloseReason::kReadTooSlow);
    EXPECT_LT(service.ended_at, began + seconds(3)) << "the half may take its own window and one more";
  });
}

TEST_F(SimHalfRecords, half_a_record_for_a_coroutine_is_judged_only_when_it_reads) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    const test::SimClock clock(pair.world);
    const auto context = sim_context();
    ServerOptions options{.connection = kFiveHundredASecond};
    options.connection.layer = context.get();
    std::optional<CloseReason> reason;
    TimePoint reads_from = kNever;
    TimePoint ended_at = kNever;
    CoServer server(
        *pair.here,
        [&](Stream stream) -> Task<> {
          co_await sleep(minutes(1));
          reads_from = pair.world.now();
          co_await stream.read_exactly(kHalvedBytes);
          ended_at = pair.world.now();
          reason = stream.close_reason();
        },
        options);
    HalvingPeer peer(pair, pair.listen(server));
    peer.send_half_a_record();
    ASSERT_TRUE(pair.run_until([&] { return reason.has_value(); }));
    EXPECT_EQ(reason, CloseReason::kReadTooSlow);
    EXPECT_GE(ended_at, reads_from + seconds(1));
    EXPECT_LT(ended_at, reads_from + seconds(2));
  });
}

TEST_F(SimHalfRecords, drain_waits_for_the_rest_of_a_record) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair);
    HalvingPeer peer(pair, service.address);
    peer.send_half_a_record();
    pair.run_for(seconds(1));
    bool drained = false;
    service.server->drain(minutes(10), [&](const DrainReport& report) {
      drained = true;
      EXPECT_EQ(report.forced, 0U);
    });
    pair.run_for(minutes(1));
    EXPECT_FALSE(drained);
    peer.send_rest();
    EXPECT_TRUE(pair.run_until([&] { return drained; }));
    EXPECT_EQ(service.heard, kHalvedBytes);
  });
}

TEST_F(SimHalfRecords, connection_with_half_a_record_is_not_evicted) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair, {}, 1);
    HalvingPeer peer(pair, service.address);
    peer.send_half_a_record();
    pair.run_for(seconds(1));
    const SimTlsPeer refused(pair, service.address);
    pair.run_for(seconds(1));
    EXPECT_EQ(service.stats().evicted, 0U);
    peer.send_rest();
    EXPECT_TRUE(pair.run_until([&] { return service.heard == kHalvedBytes; }));
    const SimTlsPeer admitted(pair, service.address);
    EXPECT_TRUE(pair.run_until([&] { return service.stats().evicted == 1; }))
        << "with the whole record the connection is idle";
  });
}

TEST_F(SimHalfRecords, record_that_drips_too_slowly_is_cut_off) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair, kFiveHundredASecond);
    HalvingPeer peer(pair, service.address);
    peer.say_record();
    peer.drip(10);
    EXPECT_EQ(service.reason, CloseReason::kReadTooSlow);
  });
}

// A key update is a record without bytes for the user.
TEST_F(SimHalfRecords, record_without_bytes_for_the_user_is_over_when_it_is_whole) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair, kFiveHundredASecond);
    HalvingPeer peer(pair, service.address);
    EXPECT_EQ(SSL_key_update(peer.codec.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    EXPECT_EQ(SSL_do_handshake(peer.codec.ssl()), 1);
    peer.take_wire();
    peer.send(10);
    pair.run_for(milliseconds(500));
    peer.send_rest();
    pair.run_for(minutes(1));
    EXPECT_FALSE(service.reason);
  });
}

TEST_F(SimHalfRecords, handshake_is_judged_in_the_same_way) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair, {.min_read_bytes = 50, .read_window = seconds(1)});
    SimTlsPeer slow(pair, service.address, false);
    pair.run_for(minutes(1));
    EXPECT_FALSE(slow.closed) << "only handshake_timeout ends a silent peer";
    slow.drip(10);
    EXPECT_TRUE(slow.is_open()) << "its hello was fast enough";
    SimTlsPeer standing(pair, service.address, false);
    pair.run_for(seconds(1));
    standing.send(standing.unsent.size() / 2);
    ASSERT_TRUE(pair.run_until([&] { return standing.closed; }, seconds(5)));
    EXPECT_EQ(service.stats().handshakes_failed, 1u);
    EXPECT_EQ(service.stats().slow_closes, 1u);
    EXPECT_FALSE(slow.closed);
    // The head of a record that stays incomplete is cut off too.
    SimTlsPeer four(pair, service.address, false);
    pair.run_for(seconds(1));
    four.send(4);
    ASSERT_TRUE(pair.run_until([&] { return four.closed; }, seconds(5)));
  });
}

TEST_F(SimHalfRecords, arriving_bytes_restart_the_idle_timeout) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair, {.idle_timeout = seconds(5)});
    HalvingPeer peer(pair, service.address);
    peer.say_record();
    peer.drip(100);
    EXPECT_TRUE(pair.run_until([&] { return service.heard == kHalvedBytes; }, seconds(1)));
    ASSERT_TRUE(pair.run_until([&] { return service.reason.has_value(); }, seconds(12)));
    EXPECT_EQ(service.reason, CloseReason::kIdle);
  });
}

// Many peers each send half a record. The memory budget must count what malloc has given out for them, and its hard
// mark must end some of them.
TEST_F(SimHalfRecords, memory_of_many_half_records_is_counted_and_limited) {
  constexpr size_t kHalvingPeers = 100;
  on_seeds(1, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair);
    std::deque<HalvingPeer> peers;
    for (size_t i = 0; i < kHalvingPeers; ++i) peers.emplace_back(pair, service.address).say_record();
    const auto send_half = [&] {
      for (HalvingPeer& peer : peers) peer.send(kHalvedBytes / 2);
      pair.run_for(seconds(1));
    };
    const uint64_t counted_before = MemoryBudget::held_bytes();
    const size_t allocated_before = test::allocated_bytes();
    send_half();
    const uint64_t counted = MemoryBudget::held_bytes() - counted_before;
    const size_t allocated = test::allocated_bytes() - allocated_before;
    EXPECT_GE(counted, kHalvingPeers * kHalvedBytes / 4) << "the blocks of the pool were counted before";
    // Bytes that have passed through the simulated kernel leave allocated room there.
    EXPECT_LE(allocated, counted + kHalvingPeers * (kHalvedBytes / 2 + 2 * 1024));
    EXPECT_EQ(service.stats().memory_closes, 0u);
    // The second half of each record frees all memory. The next half records need more than the budget has room for.
    for (HalvingPeer& peer : peers) {
      peer.send_rest();
      peer.say_record();
    }
    pair.run_for(seconds(1));
    EXPECT_EQ(service.heard, kHalvingPeers * kHalvedBytes);
    BlockPool::here().trim();
    const uint64_t held = MemoryBudget::held_bytes();
    MemoryBudget::set({.soft_bytes = held + counted / 4, .hard_bytes = held + counted / 2});
    send_half();
    EXPECT_GT(service.stats().memory_closes, 0u);
    EXPECT_LT(service.stats().memory_closes, peers.size()) << "some connections had room";
  });
}

TEST_F(SimHalfRecords, many_half_handshakes_hold_no_tls_session) {
  constexpr size_t kHalvingPeers = 100;
  on_seeds(1, rough(), [](test::SimPair& pair) {
    SlowPeersServer service(pair);
    std::deque<SimTlsPeer> peers;
    for (size_t i = 0; i < kHalvingPeers; ++i) peers.emplace_back(pair, service.address, false);
    pair.run_for(seconds(1));
    const uint64_t counted_before = MemoryBudget::held_bytes();
    const size_t allocated_before = test::allocated_bytes();
    for (SimTlsPeer& peer : peers) peer.send(200);
    pair.run_for(seconds(1));
    const size_t allocated = test::allocated_bytes() - allocated_before;
    const uint64_t counted = MemoryBudget::held_bytes() - counted_before;
    EXPECT_LE(allocated, counted + kHalvingPeers * 2 * 1024);
  });
}

// OpenSSL at once allocates as much memory as the head of a hello announces: nine bytes of each peer took 130 KB.
TEST_F(SimHalfRecords, many_hellos_that_announce_much_hold_only_what_was_sent) {
  constexpr size_t kHalvingPeers = 20;
  // The head of the hello comes in one record, or in two.
  for (const std::string& hello : {std::string("\x16\x03\x01\0\x04\x01\x02\0\0", 9),
                                   std::string("\x16\x03\x01\0\x01\x01\x16\x03\x01\0\x03\x02\0\0", 14)}) {
    on_seeds(1, rough(), [&](test::SimPair& pair) {
      SlowPeersServer service(pair);
      std::deque<SimTlsPeer> peers;
      for (size_t i = 0; i < kHalvingPeers; ++i) peers.emplace_back(pair, service.address, false).unsent = hello;
      pair.run_for(seconds(1));
      const size_t allocated_before = test::allocated_bytes();
      for (SimTlsPeer& peer : peers) peer.send(peer.unsent.size());
      pair.run_for(seconds(1));
      EXPECT_LE(test::allocated_bytes() - allocated_before, kHalvingPeers * 4 * 1024);
    });
  }
}

// HttpServer has windows of its own for the body of a request. They judge slow records in the same way.
TEST_F(SimHalfRecords, body_in_slow_records_is_fast_enough) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    const test::SimClock clock(pair.world);
    const std::unique_ptr<TlsServerContext> context = sim_context();
    Router router;
    router.post("/", [](HttpExchange& exchange) {
      exchange.read_body(
          [](HttpExchange& read, std::string&& body) { read.respond(200, "", std::to_string(body.size())); });
    });
    HttpServer server(*pair.here, std::move(router),
                      {.layer = context.get(), .body_window = seconds(5), .min_body_bytes = 4096});
    HalvingPeer peer(pair, pair.listen(server));
    peer.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 32000\r\n\r\n");
    peer.send_rest();
    for (int i = 0; i < 2; ++i) peer.say_record();
    peer.drip(150);
    EXPECT_TRUE(pair.run_until([&] { return peer.codec.plain().ends_with("32000"); }, seconds(5)))
        << peer.codec.plain();
    EXPECT_EQ(server.stats().body_timeouts, 0u);
    // A body that stops is not fast enough.
    peer.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 32000\r\n\r\n");
    peer.send_rest();
    peer.send_half_a_record();
    ASSERT_TRUE(pair.run_until([&] { return peer.closed; }, seconds(30)));
    EXPECT_EQ(server.stats().body_timeouts, 1u);
  });
}

}  // namespace
}  // namespace peal
