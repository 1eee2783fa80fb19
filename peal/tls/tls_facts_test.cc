// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/tls_facts.h>

#include <stdlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal {
namespace {

using testing::Contains;
using testing::StartsWith;

TEST(TlsFacts, library_that_runs) {
  const TlsFacts facts = tls_facts();
  EXPECT_THAT(facts.version, StartsWith("OpenSSL 3."));
  EXPECT_THAT(facts.providers, Contains("default"));
  EXPECT_TRUE(facts.tls13);
  EXPECT_THAT(facts.processor, testing::AnyOf(StartsWith("OPENSSL_ia32cap=0x"), StartsWith("OPENSSL_armcap=0x"), ""));
  EXPECT_THAT(facts.roots_file, StartsWith("/"));
  EXPECT_THAT(facts.roots_folder, StartsWith("/"));
}

TEST(TlsFacts, environment_says_where_roots_are) {
  ::setenv("SSL_CERT_FILE", "/some/roots.pem", 1);
  ::setenv("SSL_CERT_DIR", "/some/roots", 1);
  const TlsFacts facts = tls_facts();
  ::unsetenv("SSL_CERT_FILE");
  ::unsetenv("SSL_CERT_DIR");
  EXPECT_EQ(facts.roots_file, "/some/roots.pem");
  EXPECT_EQ(facts.roots_folder, "/some/roots");
}

}  // namespace
}  // namespace peal
