// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/tls_client_context.h>

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <tests/support/files/temporary_folder.h>
#include <tests/support/tls/tls_certificates.h>

namespace peal {
namespace {

std::string client_error(TlsClientOptions options) {
  const auto made = TlsClientContext::make(std::move(options));
  EXPECT_EQ(ERR_peek_error(), 0U);
  return made ? "" : made.error();
}

TEST(TlsClientFiles, that_are_no_good_are_named) {
  const test::TemporaryFolder folder;
  const test::TestAuthority root("root");
  const SelfSigned own = root.issue(), other = root.issue();
  const std::string file = folder.write("own.pem", own.chain_pem), key = folder.write("own.key", other.key_pem);
  EXPECT_EQ(client_error({}), "");
  EXPECT_EQ(client_error({.roots = {.pem = root.pem()}}), "");
  EXPECT_EQ(client_error({.roots = {.pem = own.key_pem}}), "the root given as text: holds no certificate");
  EXPECT_EQ(client_error({.roots = {.file = folder.path("no")}}),
            folder.path("no") + ": cannot be read: No such file or directory");
  EXPECT_EQ(client_error({.roots = {.file = file, .pem = root.pem()}}), file + ": the root is given as text too");
  EXPECT_EQ(client_error({.certificate = TlsCertificate{.chain_file = file, .key_file = key}}),
            key + ": does not match the first certificate in " + file);
  EXPECT_EQ(client_error({.certificate = TlsCertificate{.chain_file = file, .key_pem = own.key_pem}}), "");
  EXPECT_EQ(client_error({.applications = {""}}),
            "applications: each name (ALPN) must have 1 to 255 bytes, and the whole list at most 65535");
  EXPECT_EQ(client_error({.key_log_file = folder.path("no/keys")}),
            folder.path("no/keys") + ": cannot be written: No such file or directory");
}

TEST(TlsClientFiles, a_certificate_of_ones_own_may_have_no_name) {
  const SelfSigned own = test::TestAuthority("root").issue({.names = {}});
  const auto made =
      TlsClientContext::make({.certificate = TlsCertificate{.chain_pem = own.chain_pem, .key_pem = own.key_pem}});
  ASSERT_TRUE(made) << made.error();
  EXPECT_GT((*made)->stats().valid_until, std::chrono::system_clock::now() + std::chrono::hours(23));
  EXPECT_EQ(TlsClientContext::make({}).value()->stats().valid_until, std::chrono::sys_seconds());
}

TEST(TlsClientFiles, a_pin_is_the_digest_of_a_key) {
  EXPECT_EQ(client_error({.pins = {"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}}), "");
  for (const std::string pin :
       {"", "sha256", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFUU",
        "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuF==", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSu U="}) {
    EXPECT_EQ(client_error({.pins = {pin}}), "\"" + pin + "\" is not the SHA-256 of a key in base64");
  }
}

}  // namespace
}  // namespace peal
