// SPDX-License-Identifier: BSD-3-Clause
// Tests a server's handshake, and which certificate each client gets.
#include <peal/tls/parts/tls_server_state.h>

#include <thread>

#include <gtest/gtest.h>

#include <peal/tls/parts/tls_client_state.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/tls/tls_certificates.h>
#include <tests/support/tls/tls_handshake.h>

namespace peal::detail {
namespace {

using test::only;
using test::shake;
using test::Shaken;
using test::TestAuthority;

class TlsServing : public testing::Test {
 protected:
  static std::shared_ptr<TlsServerState> serving(TlsServerOptions options) {
    auto made = TlsServerState::make(std::move(options));
    EXPECT_TRUE(made) << made.error();
    return *made;
  }
  std::shared_ptr<TlsClientState> client(TlsClientOptions options = {}) const {
    options.roots = {.pem = root_.pem()};
    return TlsClientState::make(std::move(options)).value();
  }
  TlsCertificate issue(const std::string& common_name, std::vector<std::string> names, int rsa_bits = 0) const {
    const SelfSigned made =
        issuer_.issue({.names = std::move(names), .common_name = common_name, .rsa_bits = rsa_bits});
    return {.chain_pem = made.chain_pem, .key_pem = made.key_pem};
  }
  // Returns the common name of the certificate that a client gets when it asks for `host`, or the error of the
  // handshake.
  static std::string shown_for(TlsServerState& server, const std::string& host) {
    const auto anybody = TlsClientState::make({.insecure_accept_any_certificate = true}).value();
    const Shaken done = shake(*anybody, server, {.host = host});
    return done.is_done() ? done.common_name() : done.client_error;
  }

  const TestAuthority root_{"root"}, issuer_ = root_.intermediate("issuer");
};

TEST_F(TlsServing, speaks_tls13_and_tls12_by_the_intermediate_page) {
  const auto server = serving({.certificates = {issue("site", {"example.org"})}});
  const auto user = client();
  const Shaken newest = shake(*user, *server);
  ASSERT_TRUE(newest.is_done()) << newest.client_error << newest.server_error;
  EXPECT_STREQ(SSL_get_version(newest.client.get()), "TLSv1.3");
  EXPECT_STREQ(SSL_get_cipher_name(newest.client.get()), "TLS_AES_128_GCM_SHA256");
  EXPECT_EQ(SSL_get_negotiated_group(newest.client.get()), NID_X25519);
  const Shaken older = shake(*user, *server, only(TLS1_2_VERSION));
  ASSERT_TRUE(older.is_done()) << older.client_error << older.server_error;
  EXPECT_STREQ(SSL_get_cipher_name(older.client.get()), "ECDHE-ECDSA-AES128-GCM-SHA256");
  EXPECT_TRUE(newest.common_name() == "site" && older.common_name() == "site");
}

TEST_F(TlsServing, refuses_what_is_older_or_weaker) {
  const auto server = serving({.certificates = {issue("site", {"example.org"}), issue("rsa", {"example.org"}, 2048)}});
  const auto user = client();
  Shaken done = shake(*user, *server, {.client = [](SSL* ssl) {
    SSL_set_security_level(ssl, 0);
    SSL_set_cipher_list(ssl, "ALL");
    SSL_set_min_proto_version(ssl, TLS1_1_VERSION);
    SSL_set_max_proto_version(ssl, TLS1_1_VERSION);
  }});
  EXPECT_EQ(done.server_error, "unsupported protocol");
  EXPECT_EQ(done.client_error, "tlsv1 alert protocol version");
  for (const char* weak : {"DHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "AES128-GCM-SHA256"}) {
    done = shake(*user, *server, only(TLS1_2_VERSION, {.client = [&](SSL* ssl) { SSL_set_cipher_list(ssl, weak); }}));
    EXPECT_EQ(done.server_error, "no shared cipher") << weak;
  }
  done = shake(*user, *server, {.client = [](SSL* ssl) { SSL_set1_groups_list(ssl, "P-521"); }});
  EXPECT_NE(done.server_error, "");
  for (const char* group : {"P-256", "P-384", "X25519"}) {
    EXPECT_TRUE(shake(*user, *server, {.client = [&](SSL* ssl) { SSL_set1_groups_list(ssl, group); }}).is_done())
        << group;
  }
}

TEST_F(TlsServing, neither_renegotiates_nor_takes_early_data) {
  const auto server = serving({.certificates = {issue("site", {"example.org"})}});
  const auto user = client();
  Shaken done = shake(*user, *server, only(TLS1_2_VERSION));
  ASSERT_TRUE(done.is_done());
  SSL_clear_options(done.client.get(), SSL_OP_NO_RENEGOTIATION);
  ASSERT_EQ(SSL_renegotiate(done.client.get()), 1);
  SSL_do_handshake(done.client.get());
  exchange(done);
  EXPECT_EQ(done.client_error, "no renegotiation");
  ASSERT_TRUE(shake(*user, *server).is_done());
  bool is_early = true;
  const Shaken again =
      shake(*user, *server,
            {.client = [&](SSL* ssl) { is_early = SSL_SESSION_get_max_early_data(SSL_get0_session(ssl)) > 0; }});
  EXPECT_TRUE(again.is_resumed());
  EXPECT_FALSE(is_early);
}

TEST_F(TlsServing, sends_an_idle_connection_no_buffer_and_takes_moved_ones) {
  const auto server = serving({.certificates = {issue("site", {"example.org"})}, .limits = {.most_chain_bytes = 4321}});
  const SslPtr ssl = server->make_ssl("", {});
  const long wanted = SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;
  EXPECT_EQ(SSL_get_mode(ssl.get()) & wanted, wanted);
  EXPECT_EQ(SSL_get_read_ahead(ssl.get()), 1);
  EXPECT_EQ(SSL_get_max_cert_list(ssl.get()), 4321);
  EXPECT_EQ(SSL_get_options(ssl.get()) & SSL_OP_IGNORE_UNEXPECTED_EOF, 0U);
}

TEST_F(TlsServing, a_chain_of_more_bytes_than_allowed_ends_the_handshake) {
  const auto server = serving({.certificates = {issue("site", {"example.org"})}});
  const auto small = client({.limits = {.most_chain_bytes = 500}});
  EXPECT_EQ(shake(*small, *server).client_error, "excessive message size");
}

TEST_F(TlsServing, shows_the_certificate_of_the_name_that_is_asked_for) {
  const auto server =
      serving({.certificates = {issue("first", {"first.example", "both.example"}),
                                issue("second", {"Second.Example", "both.example"}), issue("wild", {"*.wild.example"}),
                                issue("exact", {"exact.wild.example"})}});
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"first.example", "first"},      {"second.example", "second"},  {"SECOND.example", "second"},
      {"second.example.", "second"},   {"a.wild.example", "wild"},    {"A.WILD.example.", "wild"},
      {"exact.wild.example", "exact"}, {"a.b.wild.example", "first"}, {"wild.example", "first"},
      {"nobody.example", "first"},     {"localhost", "first"},        {"", "first"},
      {"both.example", "first"}};
  for (const auto& [host, common_name] : expected) EXPECT_EQ(shown_for(*server, host), common_name) << host;
}

TEST_F(TlsServing, refuses_a_name_it_does_not_know_if_asked_to) {
  const auto server = serving({.certificates = {issue("first", {"first.example"}), issue("wild", {"*.wild.example"})},
                               .unknown_name = TlsUnknownName::kRefused});
  EXPECT_EQ(shown_for(*server, "first.example"), "first");
  EXPECT_EQ(shown_for(*server, "a.wild.example"), "wild");
  EXPECT_EQ(shown_for(*server, ""), "first");
  EXPECT_EQ(shown_for(*server, "other.example"), "tlsv1 unrecognized name");
}

TEST_F(TlsServing, shows_of_two_kinds_of_key_the_one_the_client_can_verify) {
  const auto server =
      serving({.certificates = {issue("other", {"other.example"}), issue("ecdsa", {"example.org"}),
                                issue("rsa", {"example.org"}, 2048), issue("rsa too", {"example.org"}, 2048)}});
  EXPECT_EQ(shake(*client(), *server).common_name(), "ecdsa");
  const Shaken rsa =
      shake(*client(), *server,
            {.client = [](SSL* ssl) { SSL_set1_sigalgs_list(ssl, "rsa_pss_rsae_sha256:RSA+SHA256:ECDSA+SHA384"); }});
  EXPECT_EQ(rsa.common_name(), "rsa");
  const auto rsa_only = [](SSL* ssl) { SSL_set_cipher_list(ssl, "ECDHE-RSA-AES128-GCM-SHA256"); };
  EXPECT_EQ(shake(*client(), *server, only(TLS1_2_VERSION, {.client = rsa_only})).common_name(), "rsa");
}

TEST_F(TlsServing, who_asks_for_no_name_has_the_choice_of_keys_too) {
  const auto server = serving({.certificates = {issue("ecdsa", {"example.org"}), issue("rsa", {"example.org"}, 2048)}});
  const auto anybody = TlsClientState::make({.insecure_accept_any_certificate = true}).value();
  const auto rsa_only = [](SSL* ssl) { SSL_set_cipher_list(ssl, "ECDHE-RSA-AES128-GCM-SHA256"); };
  EXPECT_EQ(shake(*anybody, *server, only(TLS1_2_VERSION, {.host = "", .client = rsa_only})).common_name(), "rsa");
}

TEST_F(TlsServing, agrees_on_an_application_or_says_that_there_is_none) {
  const auto server = serving({.certificates = {issue("a", {"example.org"}), issue("b", {"other.example"})},
                               .applications = {"h2", "http/1.1"}});
  const auto agreed = [&](std::vector<std::string> offered, const std::string& host) {
    const Shaken done = shake(*client({.applications = std::move(offered)}), *server, {.host = host});
    return done.is_done() ? done.application() : done.client_error;
  };
  for (const char* host : {"example.org", "other.example"}) {
    EXPECT_EQ(agreed({"http/1.1", "h2"}, host), "h2");
    EXPECT_EQ(agreed({"http/1.1"}, host), "http/1.1");
    EXPECT_EQ(agreed({}, host), "");
    EXPECT_EQ(agreed({"ftp"}, host), "tlsv1 alert no application protocol");
  }
  const auto plain = serving({.certificates = {issue("a", {"example.org"})}});
  EXPECT_EQ(shake(*client({.applications = {"ftp"}}), *plain).application(), "");
}

TEST_F(TlsServing, asks_clients_for_certificates_as_it_is_told) {
  const SelfSigned own = issuer_.issue({.common_name = "somebody"});
  const SelfSigned strange = TestAuthority("stranger").issue();
  const SelfSigned serves = issuer_.issue({.usage = "serverAuth"});
  const SelfSigned old = issuer_.issue({.ends = std::chrono::minutes(30)});
  const auto with = [&](const SelfSigned& made) {
    return client({.certificate = TlsCertificate{.chain_pem = made.chain_pem, .key_pem = made.key_pem}});
  };
  const auto nobody = client();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const char* host : {"example.org", "other.example"}) {
      const auto shaken = [&](TlsClientState& user, TlsClientAuth auth) {
        const auto server = serving({.certificates = {issue("a", {"example.org"}), issue("b", {"other.example"})},
                                     .client_auth = auth,
                                     .client_roots = {.pem = root_.pem()}});
        return shake(user, *server, only(version, {.host = host}));
      };
      const Shaken off = shaken(*with(own), TlsClientAuth::kOff);
      EXPECT_TRUE(off.is_done());
      EXPECT_EQ(SSL_get0_peer_certificate(off.server.get()), nullptr);
      EXPECT_TRUE(shaken(*nobody, TlsClientAuth::kWanted).is_done());
      EXPECT_EQ(shaken(*nobody, TlsClientAuth::kRequired).client_error,
                version == TLS1_3_VERSION ? "tlsv13 alert certificate required" : "sslv3 alert handshake failure");
      for (const TlsClientAuth auth : {TlsClientAuth::kWanted, TlsClientAuth::kRequired}) {
        const Shaken done = shaken(*with(own), auth);
        EXPECT_TRUE(done.is_done()) << done.server_error;
        EXPECT_NE(SSL_get0_peer_certificate(done.server.get()), nullptr);
        EXPECT_EQ(SSL_get_verify_result(done.server.get()), X509_V_OK);
        ASSERT_EQ(sk_X509_NAME_num(SSL_get0_peer_CA_list(done.client.get())), 1);
        EXPECT_EQ(shaken(*with(strange), auth).client_error, "tlsv1 alert unknown ca");
        EXPECT_EQ(shaken(*with(serves), auth).server_error, "certificate verify failed");
      }
    }
  }
  // The client's certificate has expired by the server's clock.
  const auto later = serving({.certificates = {issue("a", {"example.org"})},
                              .client_auth = TlsClientAuth::kWanted,
                              .client_roots = {.pem = root_.pem()},
                              .clock = test::clock_ahead<1>});
  EXPECT_EQ(shake(*with(old), *later).client_error, "sslv3 alert certificate expired");
}

TEST_F(TlsServing, an_anchor_of_clients_need_not_be_a_root) {
  const SelfSigned own = issuer_.issue();
  const auto user = client({.certificate = TlsCertificate{.chain_pem = own.chain_pem, .key_pem = own.key_pem}});
  const auto server = serving({.certificates = {issue("a", {"example.org"})},
                               .client_auth = TlsClientAuth::kRequired,
                               .client_roots = {.pem = issuer_.pem()}});
  EXPECT_TRUE(shake(*user, *server).is_done());
}

TEST_F(TlsServing, staples_the_response_of_the_certificate_it_shows_while_it_is_in_time) {
  static std::atomic<int64_t> hours_later = 0;
  static constexpr TlsClock kClock = [] {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now() + std::chrono::hours(hours_later));
  };
  hours_later = 0;
  const test::TemporaryFolder folder;
  std::vector<TlsCertificate> certificates = {issue("a", {"example.org"}), issue("b", {"other.example"})};
  const std::string response = issuer_.response(certificates[1].chain_pem, {.ends = std::chrono::hours(5)});
  certificates[1].ocsp_file = folder.write("ocsp", response);
  const auto server = serving({.certificates = certificates, .clock = kClock});
  const auto user = client();
  const auto stapled = [&](const std::string& host, int version, bool asked) {
    const Shaken done =
        shake(*user, *server, only(version, {.host = host, .client = [asked](SSL* ssl) {
                                               if (asked) SSL_set_tlsext_status_type(ssl, TLSEXT_STATUSTYPE_ocsp);
                                             }}));
    EXPECT_TRUE(done.is_done()) << done.client_error;
    const unsigned char* bytes = nullptr;
    const long size = SSL_get_tlsext_status_ocsp_resp(done.client.get(), &bytes);
    return size < 0 ? "" : std::string(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  };
  EXPECT_EQ(stapled("other.example", TLS1_3_VERSION, true), response);
  hours_later = 6;
  EXPECT_EQ(stapled("other.example", TLS1_2_VERSION, true), "") << "out of date";
  hours_later = 0;
  EXPECT_EQ(stapled("example.org", TLS1_3_VERSION, true), "") << "this one has none";
  EXPECT_EQ(stapled("other.example", TLS1_3_VERSION, false), "") << "not asked for";
}

TEST_F(TlsServing, writes_the_secrets_of_connections_where_it_is_told) {
  const test::TemporaryFolder folder;
  folder.write("keys", "# before\n");
  const auto server = serving({.certificates = {issue("site", {"example.org"})}, .key_log_file = folder.path("keys")});
  const auto user = client({.key_log_file = folder.path("client_keys")});
  ASSERT_TRUE(shake(*user, *server).is_done());
  const std::string keys = folder.read("keys");
  EXPECT_TRUE(keys.starts_with("# before\nSERVER_HANDSHAKE_TRAFFIC_SECRET ")) << keys;
  EXPECT_NE(keys.find("\nCLIENT_TRAFFIC_SECRET_0 "), std::string::npos);
  EXPECT_TRUE(keys.ends_with("\n"));
  EXPECT_NE(folder.read("client_keys").find("CLIENT_TRAFFIC_SECRET_0 "), std::string::npos);
}

TEST_F(TlsServing, connections_begun_before_a_reload_end_their_handshakes_with_what_they_began) {
  const test::TemporaryFolder folder;
  const TlsCertificate first = issue("before", {"a.example", "b.example"}), second = issue("after", {"a.example"});
  const auto server = serving({.certificates = {{.chain_file = folder.write("pem", first.chain_pem),
                                                 .key_file = folder.write("key", first.key_pem)}}});
  const auto user = client();
  folder.write("pem", second.chain_pem);
  folder.write("key", second.key_pem);
  // The reload happens after the server has made its SSL object and before it receives the client's hello.
  const auto reload = [&](SSL*) { EXPECT_EQ(server->reload(true), true); };
  const Shaken old = shake(*user, *server, {.host = "b.example", .server = reload});
  EXPECT_TRUE(old.is_done()) << old.client_error << old.server_error;
  EXPECT_EQ(old.common_name(), "before");
  EXPECT_EQ(shake(*user, *server, {.host = "a.example"}).common_name(), "after");
}

TEST_F(TlsServing, threads_shake_hands_while_another_reloads) {
  const auto server = serving({.certificates = {issue("a", {"example.org"}), issue("b", {"other.example"})}});
  const auto user = client();
  std::atomic<int> failed = 0;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (const char* host : {"example.org", "other.example"}) {
    threads.emplace_back([&, host] {
      for (int round = 0; round < 30; ++round) {
        const int version = round % 2 == 0 ? TLS1_3_VERSION : TLS1_2_VERSION;
        failed += shake(*user, *server, only(version, {.host = host})).is_done() ? 0 : 1;
      }
    });
  }
  std::thread reloading([&] {
    while (!is_over) {
      failed += server->reload(false) ? 0 : 1;
      failed += server->stats().valid_until > std::chrono::system_clock::now() ? 0 : 1;
    }
  });
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  reloading.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(server->stats().reloads, 0U);
}

}  // namespace
}  // namespace peal::detail
