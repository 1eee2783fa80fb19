// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/tls/tls_layers.h>

#include <memory>

#include <peal/tls/self_signed.h>
#include <peal/tls/tls_client_context.h>
#include <peal/tls/tls_server_context.h>

namespace peal::test {
namespace {

const SelfSigned& own() {
  static const SelfSigned made =
      make_self_signed({.names = {"localhost", "127.0.0.1", "127.0.0.2", "::1", "echo.test", "two.test", "later.test",
                                  "slow.test", "other.test", "dead.test", "mute.test"}})
          .value();
  return made;
}

}  // namespace

const StreamLayer& tls_server() {
  static const std::unique_ptr<TlsServerContext> context = [] {
    TlsServerOptions options;
    options.certificates.push_back({.chain_pem = own().chain_pem, .key_pem = own().key_pem});
    return TlsServerContext::make(std::move(options)).value();
  }();
  return *context;
}

const StreamLayer& tls_client() {
  static const std::unique_ptr<TlsClientContext> context =
      TlsClientContext::make({.roots = {.pem = own().chain_pem}}).value();
  return *context;
}

}  // namespace peal::test
