// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/self_signed.h>

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <peal/tls/tls_server_context.h>

namespace peal {
namespace {

TEST(SelfSigned, of_either_kind_of_key_serves_at_once) {
  for (const TlsKeyKind kind : {TlsKeyKind::kEcdsaP256, TlsKeyKind::kRsa2048}) {
    const auto made = make_self_signed({.names = {"example.org", "*.example.org", "127.0.0.1", "::1"}, .key = kind});
    ASSERT_TRUE(made) << made.error();
    const auto server =
        TlsServerContext::make({.certificates = {{.chain_pem = made->chain_pem, .key_pem = made->key_pem}}});
    EXPECT_TRUE(server) << server.error();
    EXPECT_EQ(ERR_peek_error(), 0U);
  }
}

TEST(SelfSigned, wants_names_that_are_hosts_or_addresses) {
  EXPECT_EQ(make_self_signed({}).error(), "a self-signed certificate needs at least one name");
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a,DNS:b"), std::string(254, 'a'),
                                  "*." + std::string(252, 'a')}) {
    EXPECT_EQ(make_self_signed({.names = {name}}).error(), "\"" + name + "\" is neither a host name nor an address");
  }
}

}  // namespace
}  // namespace peal
