// SPDX-License-Identifier: BSD-3-Clause
// Tests connections over TLS against a peer that uses only OpenSSL: how they end, what they send, and how they handle a
// peer that misbehaves.
#include <gmock/gmock.h>
#include <openssl/err.h>

#include <tests/support/net_rig.h>
#include <tests/support/tls/tls_layers.h>
#include <tests/support/tls/tls_peer.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::TlsPeer;

constexpr Duration kNotInThisTest = std::chrono::hours(1);

class TlsConnectionTest : public test::NetTest {
 protected:
  std::unique_ptr<Server> serve_tls(ConnectionCallbacks callbacks, ServerOptions options = {}) {
    options.connection.layer = &test::tls_server();
    options.connection.handshake_timeout = kNotInThisTest;
    return serve(std::move(callbacks), options);
  }
  // Returns the callbacks of `journal`, extended by an on_close that notes the reason and the error.
  ConnectionCallbacks noting() {
    return journal.callbacks({.on_close = [this](Connection& connection, CloseReason reason) {
      journal.add(std::string(to_string(reason)) + (connection.error() ? ": " + connection.error().message() : ""));
    }});
  }
  TlsPeer open(const test::TlsCodec::SetUp& set_up = {}, int receive_buffer_bytes = 0) {
    TlsPeer peer(address(), set_up, receive_buffer_bytes);
    EXPECT_TRUE(wait_until([&] { return peer.is_open(); }));
    return peer;
  }
  testing::AssertionResult gets(TlsPeer& peer, size_t bytes) {
    return wait_until([&peer, bytes] {
      peer.pump();
      return peer.codec.plain().size() >= bytes;
    });
  }
};

TEST_P(TlsConnectionTest, fin_without_close_notify_is_truncation) {
  auto server = serve_tls(noting());
  TlsPeer peer = open();
  peer.send("is that all?");
  ASSERT_TRUE(noted("message 12"));
  peer.raw.fin();
  ASSERT_TRUE(noted("the peer ended too early: " + make_error_code(Trouble::kTruncated).message()));
}

TEST_P(TlsConnectionTest, close_notify_is_an_end_and_answered_by_one) {
  auto server = serve_tls(noting());
  TlsPeer peer = open();
  peer.codec.end();
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_TRUE(peer.codec.ended());
  EXPECT_FALSE(peer.codec.failed());
  ASSERT_TRUE(noted("closed by the peer"));
}

TEST_P(TlsConnectionTest, peer_that_has_ended_gets_its_answer_whole) {
  const std::string answer = pattern(3'000'000);
  ConnectionCallbacks callbacks = noting();
  callbacks.on_peer_end = [&](Connection& connection) {
    connection.send(answer);
    connection.close();
  };
  auto server = serve_tls(std::move(callbacks));
  TlsPeer peer = open();
  peer.codec.end();
  peer.pump();
  peer.raw.fin();
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_TRUE(same_bytes(peer.codec.plain(), answer));
  EXPECT_TRUE(peer.codec.ended());
  ASSERT_TRUE(noted("closed here"));
}

TEST_P(TlsConnectionTest, close_sends_everything_then_close_notify_and_waits_no_longer_than_it_lingers) {
  const std::string answer = pattern(1'000'000);
  ConnectionCallbacks callbacks = noting();
  callbacks.on_message = [&](Connection& connection, Buffer& input) {
    input.clear();
    connection.send(answer);
    connection.close();
  };
  auto server = serve_tls(std::move(callbacks), {.connection = {.linger_timeout = milliseconds(20)}});
  TlsPeer peer = open();
  peer.send("?");
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_TRUE(same_bytes(peer.codec.plain(), answer));
  EXPECT_TRUE(peer.codec.ended());
  ASSERT_TRUE(noted("the peer did not end in time")) << "it says nothing, and does not end";
}

TEST_P(TlsConnectionTest, abort_is_no_end_to_the_peer) {
  ConnectionCallbacks callbacks = noting();
  callbacks.on_message = [](Connection& connection, Buffer&) { connection.abort(); };
  auto server = serve_tls(std::move(callbacks));
  TlsPeer peer = open();
  peer.send("?");
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_FALSE(peer.codec.ended());
}

TEST_P(TlsConnectionTest, what_a_callback_sends_is_one_record) {
  ConnectionCallbacks callbacks = noting();
  callbacks.on_message = [](Connection& connection, Buffer& input) {
    while (!input.empty()) connection.send(input.take(1));
  };
  auto server = serve_tls(std::move(callbacks));
  TlsPeer peer = open();
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return journal.count("open") == 1;
  }));
  peer.send("?");
  ASSERT_TRUE(gets(peer, 1)) << "nor is the ticket still on its way";
  peer.take_records();
  peer.send("sixteen messages");
  ASSERT_TRUE(gets(peer, 17));
  EXPECT_EQ(peer.take_records().size(), 1u);
  EXPECT_EQ(peer.codec.plain(), "?sixteen messages");
}

TEST_P(TlsConnectionTest, records_that_arrive_together_are_one_message) {
  auto server = serve_tls(noting());
  TlsPeer peer = open();
  for (int i = 0; i < 16; ++i) peer.codec.say("four");
  peer.pump();
  ASSERT_TRUE(noted("message 64"));
}

// The server must not wait for the rest of a record that has such a head, because the rest never comes.
TEST_P(TlsConnectionTest, a_head_that_no_record_has_is_refused_by_itself) {
  auto server = serve_tls(noting());
  using std::string_view_literals::operator""sv;
  for (const std::string_view head : {"\x17\x03\x03\xff\xff"sv, "\x17\x05\x03\x00\x20"sv, "\xff\xff\x01\x03\x03"sv}) {
    TlsPeer peer = open();
    peer.raw.send(head);
    ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
    EXPECT_NE(peer.codec.alert(), 0);
  }
}

TEST_P(TlsConnectionTest, an_ssl2_hello_byte_by_byte_is_answered_when_it_is_whole) {
  auto server = serve_tls(noting());
  RawPeer peer = connect_peer();
  std::string unsent{"\x80\x1c\x01\x03\x03\x00\x03\x00\x00\x00\x10\x00\xc0\x2b", 14};
  unsent.append(16, 'c');  // The challenge of the SSL 2 hello.
  ASSERT_TRUE(wait_until([&] {
    if (!unsent.empty()) unsent.erase(0, peer.try_send(unsent.substr(0, 1)));
    EXPECT_TRUE(unsent.size() <= 1 || peer.received().empty()) << unsent.size();
    peer.pump();
    return !peer.received().empty();
  }));
}

TEST_P(TlsConnectionTest, every_byte_by_itself) {
  auto server = serve_tls(test::echoing());
  TlsPeer peer(address());
  std::string unsent;
  peer.codec.say("hello");
  ASSERT_TRUE(wait_until([&] {
    unsent += peer.codec.take_wire();
    if (!unsent.empty()) unsent.erase(0, peer.raw.try_send(unsent.substr(0, 1)));
    const size_t before = peer.raw.received().size();
    peer.raw.pump();
    peer.codec.hear(std::string_view(peer.raw.received()).substr(before));
    return peer.codec.plain() == "hello";
  }));
}

TEST_P(TlsConnectionTest, peer_that_speaks_in_the_clear_is_told_so) {
  ServerOptions options;
  options.connection.clear_answer = "speak TLS\n";
  auto server = serve_tls(noting(), options);
  const LayerStats before = test::tls_server().stats();
  RawPeer peer = connect_peer();
  RawPeer binary = connect_peer();
  peer.send("GET / HTTP/1.1\r\n\r\n");
  binary.send(std::string_view("\0\0\0", 3));
  ASSERT_TRUE(wait_until([&] { return peer.pump() + binary.pump() == 0; }));
  EXPECT_EQ(peer.received(), "speak TLS\n");
  EXPECT_EQ(peer.error(), 0);
  EXPECT_EQ(binary.received(), "") << "it would not understand";
  EXPECT_EQ(test::tls_server().stats().in_the_clear, before.in_the_clear + 2);
  EXPECT_EQ(test::tls_server().stats().failed, before.failed + 2);
  ASSERT_TRUE(wait_until([&] { return server->stats().handshakes_failed == 2; }));
  EXPECT_EQ(journal.lines().size(), 0u) << "nobody hears of who never was there";
}

TEST_P(TlsConnectionTest, hello_that_is_garbage_gets_an_alert) {
  auto server = serve_tls(noting());
  TlsPeer peer(address());
  std::string hello = peer.codec.take_wire();
  constexpr size_t kMessageType = 5;  // Index of the message type, after the head of the record.
  hello[kMessageType] = '\x63';
  peer.raw.send(hello);
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_GT(peer.codec.alert(), 0);
}

// After such bytes, SSL_want_read() is true although the handshake has failed.
TEST_P(TlsConnectionTest, handshake_that_begins_with_an_alert_or_no_record_ends_at_once) {
  auto server = serve_tls(noting());
  for (const std::string_view first :
       {std::string_view("\x15\x03\x03\0\2\2\x46", 7), std::string_view("\x16\x03\x01\xff\xff"
                                                                        "garbage",
                                                                        12)}) {
    RawPeer peer = connect_peer();
    peer.send(first);
    ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  }
  ASSERT_TRUE(wait_until([&] { return server->stats().handshakes_failed == 2; }));
}

TEST_P(TlsConnectionTest, record_that_was_changed_on_its_way_ends_it) {
  auto server = serve_tls(noting());
  TlsPeer peer = open();
  peer.codec.say("true");
  std::string wire = peer.codec.take_wire();
  wire.back() = static_cast<char>(wire.back() ^ 1);
  peer.raw.send(wire);
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  constexpr int kBadRecordMac = 20;
  EXPECT_EQ(peer.codec.alert(), kBadRecordMac);
  ASSERT_TRUE(noted("the socket failed: TLS failed: decryption failed or bad record mac"));
}

TEST_P(TlsConnectionTest, keys_are_updated_when_the_peer_asks) {
  auto server = serve_tls(test::echoing());
  TlsPeer peer = open();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(SSL_key_update(peer.codec.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    peer.send("hello");
    ASSERT_TRUE(gets(peer, 5 * (i + 1)));
  }
  EXPECT_FALSE(peer.codec.failed());
}

TEST_P(TlsConnectionTest, flood_of_key_updates_is_cut_off) {
  auto server = serve_tls(noting());
  TlsPeer peer = open();
  ASSERT_TRUE(wait_until([&] {
    for (int i = 0; i < 100; ++i) {
      SSL_key_update(peer.codec.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
      SSL_do_handshake(peer.codec.ssl());
    }
    return !peer.pump();
  }));
  ASSERT_TRUE(noted("the socket failed: the peer sent too many bytes in a row without application data"));
}

// The peer sends application data in between, so most_idle_bytes of received bytes are never reached. It never reads
// the answers to its key updates.
TEST_P(TlsConnectionTest, peer_that_has_its_key_updates_answered_and_never_reads_is_cut_off) {
  constexpr int kLittle = 4096;
  auto server = serve_tls(noting(), {.listen = {.socket = {.send_buffer_bytes = kLittle}}});
  TlsPeer peer = open({}, kLittle);
  ASSERT_TRUE(wait_until([&] {
    for (int i = 0; i < 1000; ++i) {
      SSL_key_update(peer.codec.ssl(), SSL_KEY_UPDATE_REQUESTED);
      peer.codec.say("x");
    }
    std::string wire = peer.codec.take_wire();
    while (!wire.empty()) {
      const size_t sent = peer.raw.try_send(wire);
      if (sent == 0) break;
      wire.erase(0, sent);
    }
    return journal.count("the socket failed: the peer sent too many bytes in a row without application data") +
               journal.count("reset by the peer") >
           0;
  }));
}

TEST_P(TlsConnectionTest, errors_that_others_left_to_openssl_are_not_its_own) {
  auto server = serve_tls({.on_message = [](Connection& connection, Buffer& input) {
    connection.send(std::move(input));
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
  }});
  TlsPeer peer = open();
  for (size_t i = 1; i <= 3; ++i) {
    peer.send("hello");
    ASSERT_TRUE(gets(peer, 5 * i));
  }
  peer.codec.end();
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_TRUE(peer.codec.ended());
  EXPECT_FALSE(peer.codec.failed());
  ask([] { ERR_clear_error(); });
}

TEST_P(TlsConnectionTest, idle_connection_holds_no_block) {
  auto server = serve_tls(test::echoing());
  std::deque<TlsPeer> peers;
  const uint64_t before = ask([] { return BlockPool::here().stats().blocks_in_use; });
  for (int i = 0; i < 5; ++i) peers.push_back(open());
  for (TlsPeer& peer : peers) {
    peer.send("hello");
    ASSERT_TRUE(gets(peer, 5));
  }
  EXPECT_EQ(ask([] { return BlockPool::here().stats().blocks_in_use; }), before);
}

TEST_P(TlsConnectionTest, facts_tell_what_was_agreed_on) {
  std::optional<LayerFacts> facts;
  auto server = serve_tls({.on_open = [&](Connection& connection) { facts = connection.facts().layer; }});
  TlsPeer peer = open([](SSL* ssl) { SSL_set_ciphersuites(ssl, "TLS_AES_256_GCM_SHA384"); });
  ASSERT_TRUE(wait_until([&] { return facts.has_value(); }));
  EXPECT_EQ(facts->protocol, "TLSv1.3");
  EXPECT_EQ(facts->cipher, "TLS_AES_256_GCM_SHA384");
  EXPECT_EQ(facts->peer, "");
  EXPECT_FALSE(facts->resumed);
}

// The server ignores the order of the peer's list, except when ChaCha20 comes first: such a peer has no AES in
// hardware.
TEST_P(TlsConnectionTest, cipher_is_the_servers_choice_but_for_chacha) {
  std::optional<LayerFacts> facts;
  auto server = serve_tls({.on_open = [&](Connection& connection) { facts = connection.facts().layer; }});
  const auto agreed = [&](const char* of_13, const char* of_12) {
    facts.reset();
    TlsPeer peer = open([&](SSL* ssl) {
      SSL_set_ciphersuites(ssl, of_13);
      SSL_set_cipher_list(ssl, of_12);
      SSL_set_max_proto_version(ssl, *of_13 == '\0' ? TLS1_2_VERSION : TLS1_3_VERSION);
    });
    EXPECT_TRUE(wait_until([&] { return facts.has_value(); }));
    return facts ? facts->cipher : "";
  };
  EXPECT_EQ(agreed("TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256", ""),
            "TLS_AES_128_GCM_SHA256");
  EXPECT_EQ(agreed("TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256", ""),
            "TLS_CHACHA20_POLY1305_SHA256");
  EXPECT_EQ(agreed("", "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256"),
            "ECDHE-ECDSA-AES128-GCM-SHA256");
  EXPECT_EQ(agreed("", "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256"), "ECDHE-ECDSA-CHACHA20-POLY1305");
}

PEAL_TEST_ON_EVERY_ENGINE(TlsConnectionTest);

}  // namespace
}  // namespace peal
