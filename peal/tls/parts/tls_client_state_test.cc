// SPDX-License-Identifier: BSD-3-Clause
// Tests which servers a client accepts, and with which it resumes sessions.
#include <peal/tls/parts/tls_client_state.h>

#include <gtest/gtest.h>

#include <peal/tls/parts/tls_server_state.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/tls/tls_certificates.h>
#include <tests/support/tls/tls_handshake.h>

namespace peal::detail {
namespace {

using std::chrono::hours;
using test::only;
using test::shake;
using test::Shaken;
using test::TestAuthority;

class TlsReaching : public testing::Test {
 protected:
  static std::shared_ptr<TlsServerState> showing(const SelfSigned& made, TlsServerOptions options = {}) {
    options.certificates = {{.chain_pem = made.chain_pem, .key_pem = made.key_pem}};
    return TlsServerState::make(std::move(options)).value();
  }
  std::shared_ptr<TlsServerState> serving(std::vector<std::string> names, TlsServerOptions options = {}) const {
    return showing(issuer_.issue({.names = std::move(names)}), std::move(options));
  }
  static std::shared_ptr<TlsClientState> client(TlsClientOptions options) {
    auto made = TlsClientState::make(std::move(options));
    EXPECT_TRUE(made) << made.error();
    return *made;
  }
  std::shared_ptr<TlsClientState> client() const { return client({.roots = {.pem = root_.pem()}}); }
  // Returns the result of the verification: X509_V_OK or an X509_V_ERR_ constant. -1 if make_ssl() has failed.
  static long result(TlsClientState& user, TlsServerState& server, const std::string& host,
                     const std::string& peer = "127.0.0.1:443") {
    const Shaken done = shake(user, server, {.host = host, .peer = peer});
    if (!done.client) return -1;
    const long verified = SSL_get_verify_result(done.client.get());
    EXPECT_EQ(done.is_done(), verified == X509_V_OK) << done.client_error << done.server_error;
    return verified;
  }

  const TestAuthority root_{"root"}, issuer_ = root_.intermediate("issuer");
};

TEST_F(TlsReaching, believes_a_chain_to_its_own_roots_or_to_the_systems_alone) {
  const auto server = serving({"example.org"});
  EXPECT_EQ(result(*client(), *server, "example.org"), X509_V_OK);
  EXPECT_EQ(result(*client({.roots = {.pem = issuer_.pem()}}), *server, "example.org"), X509_V_OK)
      << "no root, but believed";
  EXPECT_EQ(result(*client({.roots = {.pem = TestAuthority("stranger").pem()}}), *server, "example.org"),
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
  EXPECT_EQ(result(*client({}), *server, "example.org"), X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
  const SelfSigned alone = *make_self_signed({.names = {"example.org"}});
  EXPECT_EQ(result(*client({.roots = {.pem = alone.chain_pem}}), *showing(alone), "example.org"), X509_V_OK);
  EXPECT_EQ(result(*client(), *showing(alone), "example.org"), X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
}

TEST_F(TlsReaching, the_systems_roots_are_where_openssl_looks_for_them) {
  const test::TemporaryFolder folder;
  ::setenv("SSL_CERT_FILE", folder.write("roots.pem", root_.pem()).c_str(), 1);
  const auto user = client({});
  ::unsetenv("SSL_CERT_FILE");
  EXPECT_EQ(result(*user, *serving({"example.org"}), "example.org"), X509_V_OK);
}

TEST_F(TlsReaching, the_name_is_one_of_the_certificates) {
  const auto user = client();
  const auto server = serving({"example.org", "*.wild.example", "f*.part.example"});
  for (const char* host : {"example.org", "EXAMPLE.org", "example.org.", "a.wild.example"}) {
    EXPECT_EQ(result(*user, *server, host), X509_V_OK) << host;
  }
  for (const char* host :
       {"other.org", "wild.example", "a.b.wild.example", "foo.part.example", "sub.example.org", "org"}) {
    EXPECT_EQ(result(*user, *server, host), X509_V_ERR_HOSTNAME_MISMATCH) << host;
  }
  const SelfSigned by_subject = issuer_.issue({.names = {"other.example"}, .common_name = "example.org"});
  EXPECT_EQ(result(*user, *showing(by_subject), "example.org"), X509_V_ERR_HOSTNAME_MISMATCH)
      << "subjects are no names";
}

TEST_F(TlsReaching, what_is_no_name_and_no_address_is_reached_by_nobody) {
  const auto user = client();
  const auto server = serving({"example.org"});
  for (const std::string& host : {std::string(".example.org"), std::string("."), std::string(".org"),
                                  std::string("example.org\0.evil", 17), std::string(300, 'a')}) {
    EXPECT_EQ(result(*user, *server, host), -1) << host;
  }
  EXPECT_EQ(result(*user, *server, "", "unix:/run/peal.sock"), -1);
  EXPECT_EQ(user->make_ssl("", SocketAddress()), nullptr);
  EXPECT_EQ(result(*user, *server, "example.org", "unix:/run/peal.sock"), X509_V_OK);
}

TEST_F(TlsReaching, an_address_is_one_of_the_certificates_and_is_asked_for_by_no_name) {
  const auto user = client();
  const auto server = serving({"127.0.0.1", "2001:db8::1", "fe80::1"}, {.unknown_name = TlsUnknownName::kRefused});
  EXPECT_EQ(result(*user, *server, "", "127.0.0.1:443"), X509_V_OK);
  EXPECT_EQ(result(*user, *server, "", "[2001:db8::1]:443"), X509_V_OK);
  EXPECT_EQ(result(*user, *server, "127.0.0.1"), X509_V_OK);
  EXPECT_EQ(result(*user, *server, "2001:db8:0::1"), X509_V_OK);
  EXPECT_EQ(result(*user, *server, "fe80::1%lo"), X509_V_OK);
  EXPECT_EQ(result(*user, *server, "", "127.0.0.2:443"), X509_V_ERR_IP_ADDRESS_MISMATCH);
  EXPECT_EQ(result(*user, *server, "127.0.0.2", "127.0.0.1:443"), X509_V_ERR_IP_ADDRESS_MISMATCH);
  EXPECT_EQ(result(*user, *serving({"example.org"}), "127.0.0.1"), X509_V_ERR_IP_ADDRESS_MISMATCH);
  EXPECT_EQ(result(*user, *serving({"127.0.0.1"}), "127.0.0.1.example.org"), X509_V_ERR_HOSTNAME_MISMATCH);
}

TEST_F(TlsReaching, a_name_is_asked_for_without_its_dot) {
  const auto user = client();
  const auto server = serving({"example.org"});
  const Shaken done = shake(*user, *server, {.host = "Example.org."});
  EXPECT_STREQ(SSL_get_servername(done.server.get(), TLSEXT_NAMETYPE_host_name), "example.org");
  const Shaken address = shake(*client({.insecure_accept_any_certificate = true}), *server, {.host = "127.0.0.1"});
  EXPECT_EQ(SSL_get_servername(address.server.get(), TLSEXT_NAMETYPE_host_name), nullptr);
}

TEST_F(TlsReaching, a_certificate_out_of_its_time_is_refused_by_the_users_clock) {
  static std::atomic<int64_t> days_later = 0;
  static constexpr TlsClock kClock = [] {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now() + hours(24 * days_later));
  };
  days_later = 0;
  const auto user = client({.roots = {.pem = root_.pem()}, .clock = kClock});
  const auto server = serving({"example.org"});
  EXPECT_EQ(result(*user, *server, "example.org"), X509_V_OK);
  days_later = 2;
  EXPECT_EQ(result(*user, *server, "example.org"), X509_V_ERR_CERT_HAS_EXPIRED);
  days_later = -2;
  EXPECT_EQ(result(*user, *server, "example.org"), X509_V_ERR_CERT_NOT_YET_VALID);
  // The certificate of this server has expired since the server was set up.
  const SelfSigned old = issuer_.issue({.begins = -hours(3), .ends = -hours(1)});
  const Shaken late = shake(*client(), *showing(old, {.clock = test::clock_ahead<-2>}));
  EXPECT_EQ(late.client_error, "certificate verify failed");
  EXPECT_EQ(late.server_error, "sslv3 alert certificate expired");
}

TEST_F(TlsReaching, a_certificate_for_clients_alone_is_no_servers) {
  EXPECT_EQ(result(*client(), *showing(issuer_.issue({.usage = "clientAuth"})), "example.org"),
            X509_V_ERR_INVALID_PURPOSE);
}

TEST_F(TlsReaching, anybody_is_believed_where_that_was_asked_for) {
  const auto anybody = client({.insecure_accept_any_certificate = true});
  const SelfSigned alone = *make_self_signed({.names = {"other.example"}});
  for (const char* host : {"example.org", "127.0.0.1", ""}) {
    EXPECT_TRUE(shake(*anybody, *showing(alone), {.host = host}).is_done()) << host;
    EXPECT_TRUE(shake(*anybody, *showing(alone), {.host = host, .peer = "unix:@peal"}).is_done()) << host;
  }
}

TEST_F(TlsReaching, a_pin_is_of_one_key_in_the_verified_chain) {
  const SelfSigned leaf = issuer_.issue(), other = issuer_.issue();
  const auto server = showing(leaf);
  const auto judged = [&](std::vector<std::string> pins, bool is_insecure = false) {
    const auto user = client(
        {.roots = {.pem = root_.pem()}, .pins = std::move(pins), .insecure_accept_any_certificate = is_insecure});
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      const Shaken done = shake(*user, *server, only(version));
      EXPECT_TRUE(done.is_done()) << "OpenSSL itself knows no pins";
      const long verdict = user->verify_further(done.client.get());
      EXPECT_EQ(user->sessions() > 0, verdict == X509_V_OK) << "who is no good is not remembered";
      const Shaken again = shake(*user, *server, only(version));
      EXPECT_EQ(again.is_resumed(), verdict == X509_V_OK);
      EXPECT_EQ(user->verify_further(again.client.get()), verdict);
      if (version == TLS1_3_VERSION) return verdict;
    }
    return -1L;
  };
  EXPECT_EQ(judged({}), X509_V_OK);
  EXPECT_EQ(judged({test::pin_of_first(leaf.chain_pem)}), X509_V_OK);
  EXPECT_EQ(judged({test::pin_of_first(other.chain_pem), test::pin_of_first(issuer_.pem())}), X509_V_OK);
  EXPECT_EQ(judged({test::pin_of_first(root_.pem())}), X509_V_OK);
  EXPECT_EQ(judged({test::pin_of_first(other.chain_pem)}), X509_V_ERR_APPLICATION_VERIFICATION);
  // If the chain is not verified, only the key of the server's own certificate is compared.
  EXPECT_EQ(judged({test::pin_of_first(leaf.chain_pem)}, true), X509_V_OK);
  EXPECT_EQ(judged({test::pin_of_first(issuer_.pem())}, true), X509_V_ERR_APPLICATION_VERIFICATION);
}

TEST_F(TlsReaching, a_session_goes_on_with_the_same_host_and_port_alone) {
  const auto server = serving({"example.org", "other.example", "127.0.0.1"});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto user = client();
    const auto is_resumed = [&](const std::string& host, const std::string& peer) {
      const Shaken done = shake(*user, *server, only(version, {.host = host, .peer = peer}));
      EXPECT_TRUE(done.is_done());
      return done.is_resumed();
    };
    EXPECT_FALSE(is_resumed("example.org", "127.0.0.1:443"));
    EXPECT_FALSE(is_resumed("other.example", "127.0.0.1:443"));
    EXPECT_FALSE(is_resumed("", "127.0.0.1:443"));
    EXPECT_FALSE(is_resumed("example.org", "127.0.0.1:444"));
    EXPECT_TRUE(is_resumed("EXAMPLE.org.", "127.0.0.2:443")) << "another address of the same host";
    EXPECT_TRUE(is_resumed("", "127.0.0.1:443"));
    EXPECT_EQ(user->sessions(), 4U);
  }
}

TEST_F(TlsReaching, a_session_that_another_client_made_is_its_own) {
  const auto server = serving({"example.org"});
  const auto first = client(), second = client();
  EXPECT_TRUE(shake(*first, *server).is_done());
  EXPECT_FALSE(shake(*second, *server).is_resumed());
}

TEST_F(TlsReaching, sessions_are_bounded) {
  const auto server = serving({"a.example", "b.example", "c.example"});
  const auto user = client({.roots = {.pem = root_.pem()}, .most_sessions = 2});
  for (const char* host : {"a.example", "b.example", "c.example"})
    EXPECT_TRUE(shake(*user, *server, {.host = host}).is_done());
  EXPECT_EQ(user->sessions(), 2U);
  EXPECT_FALSE(shake(*user, *server, {.host = "a.example"}).is_resumed());
  EXPECT_TRUE(shake(*user, *server, {.host = "c.example"}).is_resumed());
}

TEST_F(TlsReaching, a_session_of_tls13_is_used_by_one_connection) {
  const auto server = serving({"example.org"});
  const auto user = client();
  EXPECT_TRUE(shake(*user, *server).is_done());
  const SslPtr first = user->make_ssl("example.org", *SocketAddress::parse("127.0.0.1:443"));
  const SslPtr second = user->make_ssl("example.org", *SocketAddress::parse("127.0.0.1:443"));
  EXPECT_NE(SSL_get0_session(first.get()), nullptr);
  EXPECT_EQ(SSL_get0_session(second.get()), nullptr);
}

TEST_F(TlsReaching, a_connection_cut_off_does_not_spoil_the_session_of_others) {
  const auto server = serving({"example.org"});
  const auto user = client();
  for (int round = 0; round < 3; ++round) {
    Shaken done = shake(*user, *server, only(TLS1_2_VERSION));
    EXPECT_EQ(done.is_resumed(), round > 0);
    SSL_set_shutdown(done.client.get(), 0);
    SSL_clear(done.client.get());  // A connection that ends without close_notify does this.
  }
}

}  // namespace
}  // namespace peal::detail
