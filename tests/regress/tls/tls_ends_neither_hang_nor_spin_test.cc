// SPDX-License-Identifier: BSD-3-Clause
// This is hurt 6 of docs/hurts.md. When other libraries close a TLS connection, three things go wrong:
// - They wait for ever for a peer that never sends close_notify (asio #125, libevent #952).
// - They report an error if there was none, or a proper end if there was an error (asio #212, #1663; trantor #290).
// - They spin at 100 % CPU on a socket that is ready while OpenSSL has nothing to do (libevent #1127).
#include <gmock/gmock.h>

#include <tests/support/net_rig.h>
#include <tests/support/tls/tls_layers.h>
#include <tests/support/tls/tls_peer.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::TlsPeer;
using testing::ElementsAre;

class TlsEnds : public test::NetTest {
 protected:
  std::unique_ptr<Server> serve_tls(ConnectionCallbacks callbacks, ConnectionOptions options = {},
                                    const SocketOptions& socket = {}) {
    options.layer = &test::tls_server();
    options.handshake_timeout = std::chrono::hours(1);
    return serve(std::move(callbacks), {.listen = {.socket = socket}, .connection = options});
  }
  TlsPeer open() {
    TlsPeer peer(address());
    EXPECT_TRUE(wait_until([&] { return peer.is_open(); }));
    return peer;
  }
  // Returns how often the engine waits while nothing happens except a timer. An engine that spins waits thousands of
  // times.
  uint64_t waits_meanwhile() {
    const auto waits = [this] { return loop().engine().stats().waits; };
    std::atomic<bool> over = false;
    uint64_t before = 0;
    ask([&] {
      before = waits();
      loop().after(milliseconds(50), [&] { over = true; });
    });
    while (!over) std::this_thread::yield();
    return ask(waits) - before;
  }
};

TEST_P(TlsEnds, peer_that_never_answers_close_notify_is_not_waited_for_for_ever) {
  auto server = serve_tls({.on_open = [](Connection& connection) { connection.close(); },
                           .on_close =
                               [&](Connection& connection, CloseReason why) {
                                 journal.add(std::string(to_string(why)) + ", " + connection.error().message());
                               }},
                          {.linger_timeout = milliseconds(20)});
  TlsPeer peer = open();
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 1; }));
  EXPECT_THAT(journal.lines(), ElementsAre("the peer did not end in time, Success"));
}

// Most clients close the socket as soon as they have the answer.
TEST_P(TlsEnds, fin_alone_after_our_own_end_is_no_error) {
  auto server = serve_tls({.on_open =
                               [](Connection& connection) {
                                 connection.send("all of it");
                                 connection.close();
                               },
                           .on_close =
                               [&](Connection& connection, CloseReason why) {
                                 journal.add(std::string(to_string(why)) + ", " + connection.error().message());
                               }});
  TlsPeer peer = open();
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.codec.ended();
  }));
  EXPECT_EQ(peer.codec.plain(), "all of it");
  peer.raw.fin();
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 1; }));
  EXPECT_THAT(journal.lines(), ElementsAre("closed here, Success"));
}

TEST_P(TlsEnds, nothing_spins_on_half_a_record) {
  auto server = serve_tls(journal.callbacks());
  TlsPeer peer = open();
  peer.codec.say("half of this");
  const std::string wire = peer.codec.take_wire();
  peer.raw.send(std::string_view(wire).substr(0, wire.size() / 2));
  ASSERT_TRUE(wait_until([&] { return loop().engine().stats().receives >= 3; }));
  EXPECT_LT(waits_meanwhile(), 100u);
  EXPECT_EQ(journal.lines().size(), 1u);
  peer.raw.send(std::string_view(wire).substr(wire.size() / 2));
  ASSERT_TRUE(noted("message 12"));
}

TEST_P(TlsEnds, nothing_spins_on_half_a_handshake) {
  auto server = serve_tls(journal.callbacks());
  TlsPeer peer(address());
  const std::string hello = peer.codec.take_wire();
  peer.raw.send(std::string_view(hello).substr(0, 40));
  ASSERT_TRUE(wait_until([&] { return loop().engine().stats().receives >= 1; }));
  EXPECT_LT(waits_meanwhile(), 100u);
  peer.raw.send(std::string_view(hello).substr(40));
  ASSERT_TRUE(wait_until([&] { return peer.is_open(); }));
}

// The answer to a key update waits for room, like other output. Input is read nevertheless.
TEST_P(TlsEnds, nothing_spins_while_the_answer_to_a_key_update_has_no_room) {
  constexpr int kLittle = 4096;
  auto server = serve_tls({.on_message =
                               [](Connection& connection, Buffer& input) {
                                 input.clear();
                                 connection.send(std::string(2'000'000, 'x'));
                               }},
                          {}, {.send_buffer_bytes = kLittle});
  TlsPeer peer(address(), {}, kLittle);
  ASSERT_TRUE(wait_until([&] { return peer.is_open(); }));
  peer.codec.say("?");
  SSL_key_update(peer.codec.ssl(), SSL_KEY_UPDATE_REQUESTED);
  peer.codec.say("?");
  peer.raw.send(peer.codec.take_wire());
  ASSERT_TRUE(wait_until([&] { return loop().engine().stats().short_sends > 0; }));
  EXPECT_LT(waits_meanwhile(), 100u);
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.codec.plain().size() == 2'000'000;
  }));
  EXPECT_FALSE(peer.codec.failed());
}

PEAL_TEST_ON_EVERY_ENGINE(TlsEnds);

}  // namespace
}  // namespace peal
