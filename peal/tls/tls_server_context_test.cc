// SPDX-License-Identifier: BSD-3-Clause
// Tests the error texts for a server's wrong files and options, and the reload of changed files.
#include <peal/tls/tls_server_context.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <tests/support/files/temporary_folder.h>
#include <tests/support/tls/tls_certificates.h>

namespace peal {
namespace {

using std::chrono::hours;
using test::TestAuthority;

class TlsServerFiles : public testing::Test {
 protected:
  // Returns the error text of make(); empty if it succeeds.
  static std::string error_of(TlsServerOptions options) {
    const auto made = TlsServerContext::make(std::move(options));
    EXPECT_EQ(ERR_peek_error(), 0U);
    return made ? "" : made.error();
  }
  std::string error_of(const std::string& chain, const std::string& key, TlsServerOptions options = {}) const {
    options.certificates = {
        {.chain_file = folder_.write("site.pem", chain), .key_file = folder_.write("site.key", key)}};
    return error_of(std::move(options));
  }
  std::string path(std::string_view name) const { return folder_.path(name); }

  const test::TemporaryFolder folder_;
  const TestAuthority root_{"root"};
  const SelfSigned good_ = root_.issue();
};

TEST_F(TlsServerFiles, that_are_good_are_taken) {
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem), "");
  EXPECT_EQ(error_of({.certificates = {{.chain_pem = good_.chain_pem, .key_pem = good_.key_pem}}}), "");
  const std::string both = folder_.write("both.pem", good_.key_pem + good_.chain_pem);
  EXPECT_EQ(error_of({.certificates = {{.chain_file = both, .key_file = both}}}), "");
}

TEST_F(TlsServerFiles, that_are_missing_or_no_files_are_named) {
  EXPECT_EQ(error_of({.certificates = {{.chain_file = path("no.pem"), .key_pem = good_.key_pem}}}),
            path("no.pem") + ": cannot be read: No such file or directory");
  EXPECT_EQ(error_of({.certificates = {{.chain_pem = good_.chain_pem, .key_file = path("no.key")}}}),
            "the certificate given as text: " + path("no.key") + ": cannot be read: No such file or directory");
  EXPECT_EQ(error_of({.certificates = {{.chain_file = path(""), .key_pem = good_.key_pem}}}),
            path("") + ": cannot be read: Is a directory");
  ASSERT_EQ(::mkfifo(path("pipe.pem").c_str(), 0600), 0);
  EXPECT_EQ(error_of({.certificates = {{.chain_file = path("pipe.pem"), .key_pem = good_.key_pem}}}),
            path("pipe.pem") + ": holds no certificate")
      << "and nobody will ever write into it";
  const Fd silent(::open(path("pipe.pem").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(error_of({.certificates = {{.chain_file = path("pipe.pem"), .key_pem = good_.key_pem}}}),
            path("pipe.pem") + ": cannot be read: Resource temporarily unavailable");
  const std::string large = folder_.write("large.pem", std::string((16 << 20) + 20'000, '-'));
  EXPECT_EQ(error_of({.certificates = {{.chain_file = large, .key_pem = good_.key_pem}}}),
            large + ": is larger than 16 MiB");
}

TEST_F(TlsServerFiles, each_pair_is_a_file_or_text) {
  const std::string site = folder_.write("site.pem", good_.chain_pem), key = folder_.write("site.key", good_.key_pem);
  EXPECT_EQ(error_of({.certificates = {{.chain_file = site, .chain_pem = good_.chain_pem, .key_file = key}}}),
            site + ": the certificate is given as text too");
  EXPECT_EQ(error_of({.certificates = {{.chain_file = site, .key_file = key, .key_pem = good_.key_pem}}}),
            site + ": " + key + ": the key is given as text too");
  EXPECT_EQ(error_of({.certificates = {{.chain_file = site}}}), site + ": no key is given");
  EXPECT_EQ(error_of({.certificates = {{.key_file = key}}}), "no certificate is given");
  EXPECT_EQ(error_of(TlsServerOptions{}), "a server needs a certificate, and none is given");
}

TEST_F(TlsServerFiles, that_hold_something_else_are_named) {
  EXPECT_EQ(error_of("", good_.key_pem), path("site.pem") + ": holds no certificate");
  EXPECT_EQ(error_of(good_.key_pem, good_.key_pem), path("site.pem") + ": holds no certificate");
  EXPECT_EQ(error_of(good_.chain_pem.substr(0, 200), good_.key_pem),
            path("site.pem") + ": certificate 1 cannot be read");
  EXPECT_EQ(error_of(good_.chain_pem + good_.chain_pem.substr(0, 200), good_.key_pem),
            path("site.pem") + ": certificate 2 cannot be read");
  EXPECT_EQ(error_of(good_.chain_pem, good_.chain_pem), path("site.key") + ": is not a private key");
  EXPECT_EQ(error_of(good_.chain_pem, ""), path("site.key") + ": is not a private key");
  EXPECT_EQ(error_of({.certificates = {{.chain_pem = "x", .key_pem = "y"}}}),
            "the certificate given as text: holds no certificate");
  EXPECT_EQ(error_of({.certificates = {{.chain_pem = good_.chain_pem, .key_pem = "y"}}}),
            "the key given as text: is not a private key");
}

TEST_F(TlsServerFiles, a_key_that_is_encrypted_is_not_asked_for_a_password) {
  EXPECT_EQ(error_of(good_.chain_pem, test::encrypted(good_.key_pem)), path("site.key") + ": the key is encrypted");
}

TEST_F(TlsServerFiles, a_key_of_another_certificate_is_named_and_no_key_is_told) {
  const SelfSigned other = root_.issue();
  const std::string error = error_of(good_.chain_pem, other.key_pem);
  EXPECT_EQ(error, path("site.key") + ": does not match the first certificate in " + path("site.pem"));
  EXPECT_EQ(error_of(good_.chain_pem, root_.issue({.rsa_bits = 2048}).key_pem), error);
}

TEST_F(TlsServerFiles, a_certificate_out_of_its_time_is_refused_by_the_users_clock) {
  const SelfSigned old = root_.issue({.begins = -hours(3), .ends = -hours(1)});
  EXPECT_TRUE(error_of(old.chain_pem, old.key_pem).starts_with(path("site.pem") + ": certificate 1 has expired on 20"));
  const SelfSigned early = root_.issue({.begins = hours(1), .ends = hours(3)});
  EXPECT_TRUE(error_of(early.chain_pem, early.key_pem)
                  .starts_with(path("site.pem") + ": certificate 1 is not valid before 20"));
  EXPECT_EQ(error_of(old.chain_pem, old.key_pem, {.clock = test::clock_ahead<-2>}), "");
  EXPECT_EQ(error_of(early.chain_pem, early.key_pem, {.clock = test::clock_ahead<2>}), "");
}

TEST_F(TlsServerFiles, a_chain_is_whole_in_its_order_and_in_its_time) {
  const TestAuthority upper = root_.intermediate("upper"), lower = upper.intermediate("lower");
  const SelfSigned leaf = lower.issue();
  const auto part = [&](size_t index) { return test::nth_certificate(leaf.chain_pem, index); };
  const std::string wrong = " has not signed the one before it: the chain is in the wrong order, or one is missing";
  EXPECT_EQ(error_of(leaf.chain_pem, leaf.key_pem), "");
  EXPECT_EQ(error_of(leaf.chain_pem + root_.pem(), leaf.key_pem), "");
  EXPECT_EQ(error_of(part(0) + part(2) + part(1), leaf.key_pem), path("site.pem") + ": certificate 2" + wrong);
  EXPECT_EQ(error_of(part(0) + part(1) + part(1), leaf.key_pem), path("site.pem") + ": certificate 3" + wrong);
  EXPECT_EQ(error_of(part(1) + part(0), leaf.key_pem),
            path("site.key") + ": does not match the first certificate in " + path("site.pem"));
  // The issuer in the chain has the right name, but another key.
  EXPECT_EQ(error_of(part(0) + test::nth_certificate(upper.intermediate("lower").issue().chain_pem, 1), leaf.key_pem),
            path("site.pem") + ": certificate 2" + wrong);
  const SelfSigned under_old = root_.intermediate("old", -hours(1)).issue();
  EXPECT_TRUE(error_of(under_old.chain_pem, under_old.key_pem)
                  .starts_with(path("site.pem") + ": certificate 2 has expired on 20"));
}

TEST_F(TlsServerFiles, a_certificate_names_a_host_or_an_address) {
  const SelfSigned nameless = root_.issue({.names = {}});
  EXPECT_EQ(error_of(nameless.chain_pem, nameless.key_pem),
            path("site.pem") + ": the certificate has no names (subjectAltName)");
  const SelfSigned address = root_.issue({.names = {"192.0.2.1"}});
  EXPECT_EQ(error_of(address.chain_pem, address.key_pem), "");
}

TEST_F(TlsServerFiles, a_key_that_openssl_finds_too_small_is_named) {
  const SelfSigned small = root_.issue({.rsa_bits = 1024});
  EXPECT_EQ(error_of(small.chain_pem, small.key_pem),
            path("site.pem") + ": OpenSSL refuses this certificate: ee key too small");
}

TEST_F(TlsServerFiles, a_staple_is_for_the_certificate_and_in_time) {
  const TestAuthority issuer = root_.intermediate("issuer");
  const SelfSigned leaf = issuer.issue(), other = issuer.issue();
  const auto error_with = [&](const std::string& staple, const std::string& chain) {
    const std::string file = folder_.write("site.ocsp", staple);
    return error_of({.certificates = {{.chain_pem = chain, .key_pem = leaf.key_pem, .ocsp_file = file}}});
  };
  const std::string file = path("site.ocsp");
  EXPECT_EQ(error_with(issuer.response(leaf.chain_pem), leaf.chain_pem), "");
  EXPECT_EQ(error_with(issuer.response(leaf.chain_pem, {.sha256 = true}), leaf.chain_pem), "");
  EXPECT_EQ(error_with("nothing", leaf.chain_pem), file + ": is not a DER OCSP response with an answer");
  EXPECT_EQ(error_with(std::string("\x30\x03\x0a\x01\x06", 5), leaf.chain_pem),  // The response status "unauthorized".
            file + ": is not a DER OCSP response with an answer");
  const std::string not_for =
      file + ": is not for the certificate in the certificate given as text and the issuer after it";
  EXPECT_EQ(error_with(issuer.response(other.chain_pem), leaf.chain_pem), not_for);
  EXPECT_EQ(error_with(issuer.response(leaf.chain_pem), test::nth_certificate(leaf.chain_pem, 0)), not_for);
  EXPECT_EQ(error_with(issuer.response(leaf.chain_pem, {.is_good = false}), leaf.chain_pem),
            file + ": does not say that the certificate is good");
  EXPECT_EQ(error_with(issuer.response(leaf.chain_pem, {.ends = -hours(0) - std::chrono::minutes(1)}), leaf.chain_pem),
            file + ": the OCSP response has expired");
  EXPECT_EQ(error_with(issuer.response(leaf.chain_pem, {.begins = hours(1)}), leaf.chain_pem),
            file + ": the OCSP response is not valid yet");
  folder_.remove("site.ocsp");
  EXPECT_EQ(error_of({.certificates = {{.chain_pem = leaf.chain_pem, .key_pem = leaf.key_pem, .ocsp_file = file}}}),
            file + ": cannot be read: No such file or directory");
}

TEST_F(TlsServerFiles, clients_are_asked_only_with_roots_to_believe) {
  TlsServerOptions options{.client_auth = TlsClientAuth::kWanted};
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, options), "client_roots: no root is given");
  options.client_roots = {.pem = good_.key_pem};
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, options),
            "client_roots: the root given as text: holds no certificate");
  options.client_roots = {.file = path("clients.pem")};
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, options),
            "client_roots: " + path("clients.pem") + ": cannot be read: No such file or directory");
  folder_.write("clients.pem", root_.pem());
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, options), "");
}

TEST_F(TlsServerFiles, names_of_applications_fit_their_list) {
  const std::string wrong = "applications: each name (ALPN) must have 1 to 255 bytes, and the whole list at most 65535";
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.applications = {"http/1.1", ""}}), wrong);
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.applications = {std::string(256, 'x')}}), wrong);
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.applications = {std::string(255, 'x')}}), "");
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.applications = std::vector(256, std::string(255, 'x'))}), wrong);
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.applications = std::vector(255, std::string(255, 'x'))}), "");
}

TEST_F(TlsServerFiles, the_secret_of_tickets_is_long_and_their_epoch_fits) {
  const std::string file = folder_.write("tickets", std::string(31, 's'));
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.ticket_secret_file = file}),
            file + ": holds less than 32 bytes");
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.ticket_secret_file = path("none")}),
            path("none") + ": cannot be read: No such file or directory");
  folder_.write("tickets", std::string(32, 's'));
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.ticket_secret_file = file}), "");
  for (const Duration epoch : {Duration(std::chrono::milliseconds(999)), Duration(hours(85)), Duration(-1)}) {
    EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.ticket_epoch = epoch}),
              "ticket_epoch is shorter than a second, or longer than 84 hours");
  }
}

TEST_F(TlsServerFiles, a_key_log_that_cannot_be_written_is_an_error_at_once) {
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.key_log_file = path("no/keys")}),
            path("no/keys") + ": cannot be written: No such file or directory");
  ASSERT_EQ(::mkfifo(path("nobody").c_str(), 0600), 0);
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.key_log_file = path("nobody")}),
            path("nobody") + ": cannot be written: No such device or address");
  EXPECT_EQ(error_of(good_.chain_pem, good_.key_pem, {.key_log_file = path("keys")}), "");
  struct stat status{};
  EXPECT_EQ(::stat(path("keys").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(TlsServerFiles, that_change_are_read_again_and_bad_ones_change_nothing) {
  const TlsCertificate site{.chain_file = folder_.write("site.pem", good_.chain_pem),
                            .key_file = folder_.write("site.key", good_.key_pem)};
  const auto server = TlsServerContext::make({.certificates = {site}}).value();
  const auto good_until = server->stats().valid_until;
  const auto now = std::chrono::system_clock::now();
  EXPECT_GT(good_until, now + hours(23));
  EXPECT_LT(good_until, now + hours(25));
  EXPECT_EQ(server->reload_if_changed(), false);
  EXPECT_EQ(server->stats().reloads, 0U);

  const SelfSigned next = root_.issue({.ends = hours(48)});
  folder_.write("site.pem", next.chain_pem);
  EXPECT_EQ(server->reload_if_changed().error(),
            path("site.key") + ": does not match the first certificate in " + path("site.pem"));
  EXPECT_EQ(server->stats().valid_until, good_until);
  EXPECT_EQ(server->stats().reloads_failed, 1U);
  EXPECT_EQ(server->reload_if_changed(), false) << "it was said, and the file is the same";
  EXPECT_FALSE(server->reload());
  EXPECT_EQ(server->stats().reloads_failed, 2U);

  folder_.remove("site.key");
  EXPECT_EQ(server->reload_if_changed().error(),
            path("site.pem") + ": " + path("site.key") + ": cannot be read: No such file or directory");
  EXPECT_EQ(server->reload_if_changed(), false);
  folder_.write("site.key", next.key_pem);
  EXPECT_EQ(server->reload_if_changed(), true);
  EXPECT_EQ(server->reload_if_changed(), false);
  EXPECT_EQ(server->stats().reloads, 1U);
  EXPECT_GT(server->stats().valid_until, now + hours(47));
  EXPECT_TRUE(server->reload());
  EXPECT_EQ(server->stats().reloads, 2U);
  EXPECT_EQ(server->stats().reloads_failed, 3U);
}

TEST_F(TlsServerFiles, all_that_are_read_are_watched) {
  const TestAuthority issuer = root_.intermediate("issuer");
  const SelfSigned leaf = issuer.issue();
  const auto server =
      TlsServerContext::make({.certificates = {{.chain_pem = leaf.chain_pem,
                                                .key_pem = leaf.key_pem,
                                                .ocsp_file = folder_.write("ocsp", issuer.response(leaf.chain_pem))}},
                              .client_auth = TlsClientAuth::kWanted,
                              .client_roots = {.file = folder_.write("roots", root_.pem())},
                              .ticket_secret_file = folder_.write("tickets", std::string(32, 's'))})
          .value();
  for (const char* name : {"ocsp", "roots", "tickets"}) {
    EXPECT_EQ(server->reload_if_changed(), false);
    folder_.write(name, folder_.read(name));
    EXPECT_EQ(server->reload_if_changed(), true) << name;
  }
}

TEST_F(TlsServerFiles, the_certificate_that_ends_first_counts) {
  const SelfSigned sooner = root_.issue({.names = {"sooner.example"}, .ends = hours(5)});
  const SelfSigned under = root_.intermediate("short", hours(3)).issue({.names = {"under.example"}});
  const auto valid_for = [](const std::vector<SelfSigned>& all) {
    TlsServerOptions options;
    for (const auto& [chain, key] : all) options.certificates.push_back({.chain_pem = chain, .key_pem = key});
    const auto until = TlsServerContext::make(options).value()->stats().valid_until;
    return std::chrono::round<hours>(until - std::chrono::system_clock::now());
  };
  EXPECT_EQ(valid_for({good_, sooner}), hours(5));
  EXPECT_EQ(valid_for({sooner, under, good_}), hours(3));
}

}  // namespace
}  // namespace peal
