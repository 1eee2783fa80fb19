// SPDX-License-Identifier: BSD-3-Clause
// Tests a server's connection that switches to TLS (start_layer()), against a peer that uses only OpenSSL. The tests
// vary where the hello begins, which bytes come before it, and how the connection ends.
#include <string>

#include <gmock/gmock.h>

#include <peal/tls/parts/tls_error.h>
#include <tests/support/net_rig.h>
#include <tests/support/tls/tls_layers.h>
#include <tests/support/tls/tls_peer.h>

namespace peal {
namespace {

using test::TlsPeer;
using testing::ElementsAre;

// The server notes each line that it receives, after "clear" or, if the line came over TLS, after "secret", and answers
// the line. It answers the line "start" by "go" and switches to TLS.
class TlsStartLayerTest : public test::NetTest {
 protected:
  std::unique_ptr<Server> serve_later(std::string_view clear_answer = {}) {
    ConnectionCallbacks callbacks;
    callbacks.on_message = [this](Connection& connection, Buffer& input) {
      for (size_t end = 0; (end = input.view().find('\n')) != std::string_view::npos;) {
        const std::string line = input.take(end + 1).to_string();
        if (line == "start\n") {
          connection.send("go\n");
          EXPECT_TRUE(connection.start_layer());
          return;
        }
        journal.add((secured ? "secret " : "clear ") + line);
        connection.send("heard " + line);
      }
    };
    callbacks.on_secured = [this](Connection&) {
      secured = true;
      journal.add("secured");
    };
    callbacks.on_close = [this](Connection& connection, CloseReason reason) {
      secured = false;
      error = connection.error();
      journal.add(std::string(to_string(reason)));
    };
    ServerOptions options;
    options.connection = {.layer = &test::tls_server(),
                          .layer_later = true,
                          .clear_answer = clear_answer,
                          .handshake_timeout = std::chrono::hours(1)};
    return serve(std::move(callbacks), options);
  }
  // Waits until the peer has received `clear`, unencrypted. The peer speaks TLS from then on.
  testing::AssertionResult hears_clear(TlsPeer& peer, const std::string& clear) {
    auto heard = wait_until([&peer, &clear] {
      peer.raw.pump();
      return peer.raw.received() == clear;
    });
    peer.begin_here();
    return heard;
  }
  testing::AssertionResult hears(TlsPeer& peer, const std::string& plain) {
    return wait_until([&peer, plain] {
      peer.pump();
      return peer.codec.plain() == plain;
    });
  }
  TlsPeer turned() {
    TlsPeer peer(address());
    peer.raw.send("start\n");
    EXPECT_TRUE(hears_clear(peer, "go\n"));
    EXPECT_TRUE(wait_until([&] { return peer.is_open(); }));
    return peer;
  }

  std::error_code error;
  bool secured = false;
};

TEST_P(TlsStartLayerTest, lines_before_are_clear_and_those_after_are_not) {
  auto server = serve_later();
  const LayerStats before = test::tls_server().stats();
  TlsPeer peer(address());
  peer.raw.send("one\nstart\n");
  ASSERT_TRUE(hears_clear(peer, "heard one\ngo\n"));
  peer.send("two\nthree\n");
  ASSERT_TRUE(hears(peer, "heard two\nheard three\n"));
  peer.codec.end();
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_TRUE(peer.codec.ended());
  EXPECT_FALSE(peer.codec.failed());
  ASSERT_TRUE(noted("closed by the peer"));
  EXPECT_THAT(journal.lines(),
              ElementsAre("clear one\n", "secured", "secret two\n", "secret three\n", "closed by the peer"));
  EXPECT_EQ(test::tls_server().stats().handshakes, before.handshakes + 1);
}

TEST_P(TlsStartLayerTest, fin_without_close_notify_is_truncation) {
  auto server = serve_later();
  TlsPeer peer = turned();
  peer.send("two\n");
  ASSERT_TRUE(hears(peer, "heard two\n"));
  peer.raw.fin();
  ASSERT_TRUE(noted("the peer ended too early"));
  EXPECT_EQ(error, make_error_code(Trouble::kTruncated));
}

TEST_P(TlsStartLayerTest, peer_need_not_wait_for_the_answer) {
  auto server = serve_later();
  TlsPeer peer(address());
  const std::string hello = peer.codec.take_wire();
  peer.raw.send("one\nstart\n" + hello);
  const std::string clear = "heard one\ngo\n";
  ASSERT_TRUE(wait_until([&] {
    peer.raw.pump();
    return peer.raw.received().size() >= clear.size();
  }));
  ASSERT_TRUE(peer.raw.received().starts_with(clear));
  peer.codec.hear(std::string_view(peer.raw.received()).substr(clear.size()));
  peer.begin_here();
  peer.send("two\n");
  ASSERT_TRUE(hears(peer, "heard two\n"));
}

TEST_P(TlsStartLayerTest, hello_in_pieces_about_the_line) {
  auto server = serve_later();
  for (const size_t first : {size_t{1}, size_t{5}, size_t{100}}) {
    TlsPeer peer(address());
    const std::string hello = peer.codec.take_wire();
    peer.raw.send("start\n" + hello.substr(0, first));
    ASSERT_TRUE(hears_clear(peer, "go\n"));
    peer.raw.send(hello.substr(first));
    peer.send("two\n");
    ASSERT_TRUE(hears(peer, "heard two\n")) << first;
    peer.codec.end();
    ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
    ASSERT_TRUE(wait_until([&] { return server->connections() == 0; }));
  }
}

// CVE-2011-0411: an attacker adds a command after the STARTTLS line.
TEST_P(TlsStartLayerTest, plaintext_injected_behind_the_line_ends_it) {
  for (const bool with_hello : {false, true}) {
    auto server = serve_later("this is TLS\n");
    const LayerStats before = test::tls_server().stats();
    TlsPeer peer(address());
    peer.raw.send("start\nevil\n" + (with_hello ? peer.codec.take_wire() : ""));
    ASSERT_TRUE(wait_until([&] { return !peer.raw.pump(); }));
    EXPECT_EQ(peer.raw.received().find("heard"), std::string::npos);
    ASSERT_TRUE(wait_until([&] { return server->connections() == 0; }));
    EXPECT_EQ(error, detail::tls_error(detail::TlsTrouble::kNotTls));
    EXPECT_EQ(server->stats().handshakes_failed, 1u);
    EXPECT_EQ(test::tls_server().stats().in_the_clear, before.in_the_clear + 1);
    EXPECT_EQ(test::tls_server().stats().failed, before.failed + 1);
  }
  EXPECT_THAT(journal.lines(), ElementsAre("the socket failed", "the socket failed"));
}

PEAL_TEST_ON_EVERY_ENGINE(TlsStartLayerTest);

}  // namespace
}  // namespace peal
