// SPDX-License-Identifier: BSD-3-Clause
// Tests both ends of a connection that switches to TLS (start_layer()), on every engine and in the simulator:
// - which server the client accepts;
// - what each side knows of the other afterwards;
// - unencrypted bytes where TLS must begin.
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <openssl/x509_vfy.h>

#include <peal/tls/parts/tls_error.h>
#include <peal/tls/tls_client_context.h>
#include <peal/tls/tls_server_context.h>
#include <tests/support/net_rig.h>
#include <tests/support/stepped_loop.h>
#include <tests/support/tls/tls_certificates.h>

namespace peal {
namespace {

// The bytes and events that one side has seen.
struct TurningSide {
  std::string clear, secret;
  std::optional<LayerFacts> facts;  // Set by on_secured.
  std::optional<CloseReason> end;
  std::error_code error;
  bool starts = true;
};

// The client sends `command` and the server sends `answer`. Each side switches to TLS after the first line that it
// receives. From then on the server echoes the client's messages.
class TlsStartLayerPairTest : public test::SteppedLoopTest {
 protected:
  static constexpr ConnectionOptions kPatient{.handshake_timeout = std::chrono::hours(1)};

  void SetUp() override {
    SteppedLoopTest::SetUp();
    if (IsSkipped()) return;
    const test::TestAuthority authority("a root");
    const SelfSigned own = authority.issue({.names = {"localhost"}, .common_name = "the server"});
    TlsServerOptions serving;
    serving.certificates.push_back({.chain_pem = own.chain_pem, .key_pem = own.key_pem});
    serving.applications = {"smtp"};
    server_context = TlsServerContext::make(std::move(serving)).value();
    client_context = TlsClientContext::make({.roots = {.pem = authority.pem()}, .applications = {"smtp"}}).value();
    server_.emplace(loop(), talking(here, false),
                    test::starting_later(*server_context, ServerOptions{.connection = kPatient}));
    port_ = server_->listen("127.0.0.1:0").value().port();
  }
  void TearDown() override {
    client_.reset();
    server_.reset();
    SteppedLoopTest::TearDown();
  }
  // Runs one connection between the two sides until both sides have ended.
  void talk() {
    here = TurningSide{.starts = here.starts};
    there = TurningSide{.starts = there.starts};
    ClientOptions calling = test::starting_later(*client_context, ClientOptions{.connection = kPatient});
    // In the simulator the client connects to an IP address, because the simulator has no host names.
    if (GetParam() == "sim") calling.connect.host = "localhost";
    client_.emplace(loop(), talking(there, true), calling);
    const std::string host = GetParam() == "sim" ? "127.0.0.1" : "localhost";
    ASSERT_TRUE(client_->connect(host + ":" + std::to_string(port_)));
    ASSERT_TRUE(run_until([&] { return here.end && there.end; }, std::chrono::seconds(30)));
  }
  LayerStats server_stats() const { return server_context->stats(); }
  LayerStats client_stats() const { return client_context->stats(); }
  NetStats server_net() const { return server_->stats(); }
  NetStats client_net() const { return client_->stats(); }

  std::unique_ptr<TlsServerContext> server_context;
  std::unique_ptr<TlsClientContext> client_context;
  std::string command = "start\n";
  std::string answer = "go\n";
  std::string host;  // The host that the client passes to start_layer().
  std::string says = "hello";
  bool aborts = false;  // True if the client aborts when its answer has arrived.
  TurningSide here, there;

 private:
  ConnectionCallbacks talking(TurningSide& side, bool is_client) {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this, is_client](Connection& connection) {
      EXPECT_FALSE(connection.layer_facts());
      if (is_client) connection.send(command);
    };
    callbacks.on_message = [this, &side, is_client](Connection& connection, Buffer& input) {
      if (side.facts) return hear(connection, side, is_client, input);
      const size_t end = input.view().find('\n');
      if (end == std::string_view::npos) return;
      side.clear += input.take(end + 1).to_string();
      if (!is_client) connection.send(answer);
      if (side.starts) connection.start_layer(is_client ? host : "");
    };
    callbacks.on_secured = [this, &side, is_client](Connection& connection) {
      side.facts = connection.layer_facts().value();
      if (is_client) connection.send(says);
    };
    callbacks.on_close = [&side](Connection& connection, CloseReason reason) {
      side.error = connection.error();
      side.end = reason;
    };
    return callbacks;
  }
  void hear(Connection& connection, TurningSide& side, bool is_client, Buffer& input) {
    side.secret += input.view();
    if (!is_client) {
      connection.send(std::move(input));
      return;
    }
    input.clear();
    if (side.secret != says) return;
    if (aborts) {
      connection.abort();
    } else {
      connection.close();
    }
  }

  std::optional<Server> server_;
  std::optional<Client> client_;
  uint16_t port_ = 0;
};

TEST_P(TlsStartLayerPairTest, both_know_then_what_was_agreed_on_and_a_session_goes_on) {
  for (const bool again : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(talk());
    EXPECT_EQ(here.clear, "start\n");
    EXPECT_EQ(there.clear, "go\n");
    EXPECT_EQ(here.secret, "hello");
    EXPECT_EQ(there.secret, "hello");
    EXPECT_EQ(there.end, CloseReason::kLocal);
    EXPECT_EQ(here.end, CloseReason::kPeerClosed) << "close_notify came";
    for (const TurningSide* side : {&here, &there}) {
      ASSERT_TRUE(side->facts);
      EXPECT_EQ(side->facts->protocol, "TLSv1.3");
      EXPECT_EQ(side->facts->application, "smtp");
      EXPECT_EQ(side->facts->resumed, again);
    }
    EXPECT_EQ(here.facts->peer, "");
    EXPECT_EQ(there.facts->peer, "CN=the server");
  }
  for (const LayerStats& stats : {server_stats(), client_stats()}) {
    EXPECT_EQ(stats.handshakes, 2u);
    EXPECT_EQ(stats.resumed, 1u);
    EXPECT_EQ(stats.failed, 0u);
    EXPECT_EQ(stats.under_way, 0u);
  }
  EXPECT_EQ(server_net().opened, 2u);
  EXPECT_EQ(server_net().handshakes_failed, 0u);
}

// A client that passes no host to start_layer() expects the name to which it connected.
TEST_P(TlsStartLayerPairTest, server_that_is_not_the_host_asked_for_is_not_spoken_to) {
  host = "other.test";
  ASSERT_NO_FATAL_FAILURE(talk());
  EXPECT_EQ(there.end, CloseReason::kFailed);
  EXPECT_EQ(there.error, detail::tls_verify_error(X509_V_ERR_HOSTNAME_MISMATCH)) << there.error.message();
  EXPECT_EQ(here.end, CloseReason::kFailed);
  EXPECT_FALSE(there.facts || here.facts);
  EXPECT_EQ(here.secret + there.secret, "");
  EXPECT_EQ(client_net().handshakes_failed, 1u);
  EXPECT_EQ(client_stats().failed, 1u);
  EXPECT_EQ(client_stats().handshakes, 0u);
  host = "localhost";
  ASSERT_NO_FATAL_FAILURE(talk());
  EXPECT_EQ(there.secret, "hello");
}

// CVE-2011-0411, in both directions. An attacker adds bytes after the client's line or after the server's answer. They
// must never be delivered as if they had come over TLS, even if they look like TLS records.
TEST_P(TlsStartLayerPairTest, plaintext_injected_is_shown_to_neither) {
  constexpr std::string_view kHandshake("\x16\x03\x01\0\5evil\n", 10);
  constexpr std::string_view kData("\x17\x03\x03\0\5evil\n", 10);
  for (const std::string_view evil : {std::string_view("evil\n"), std::string_view("e"), kHandshake, kData}) {
    for (const bool by_server : {false, true}) {
      SCOPED_TRACE(testing::PrintToString(evil) + (by_server ? " of the server" : " of the client"));
      command = by_server ? "start\n" : "start\n" + std::string(evil);
      answer = by_server ? "go\n" + std::string(evil) : "go\n";
      ASSERT_NO_FATAL_FAILURE(talk());
      EXPECT_NE(here.error, std::error_code());
      EXPECT_NE(there.error, std::error_code());
      EXPECT_EQ(here.clear, "start\n");
      EXPECT_EQ(there.clear, "go\n");
      EXPECT_EQ(here.secret + there.secret, "");
      EXPECT_FALSE(there.facts || here.facts);
    }
  }
  EXPECT_EQ(server_stats().handshakes + client_stats().handshakes, 0u);
  EXPECT_EQ(server_stats().under_way + client_stats().under_way, 0u);
  EXPECT_EQ(server_stats().in_the_clear, 3u);
}

TEST_P(TlsStartLayerPairTest, aborted_by_one_it_is_no_end_to_the_other) {
  aborts = true;
  ASSERT_NO_FATAL_FAILURE(talk());
  EXPECT_EQ(there.end, CloseReason::kAborted);
  EXPECT_NE(here.end, CloseReason::kPeerClosed);
  EXPECT_EQ(here.secret, "hello");
}

// The text takes many records. It is smaller than the high-water mark, at which an echo would stop reading.
TEST_P(TlsStartLayerPairTest, much_is_said_over_it) {
  says = pattern(200'000);
  ASSERT_NO_FATAL_FAILURE(talk());
  EXPECT_TRUE(same_bytes(here.secret, says));
  EXPECT_TRUE(same_bytes(there.secret, says));
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(TlsStartLayerPairTest);

}  // namespace
}  // namespace peal
