// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/layers/tls_layers.h>

#include <openssl/pem.h>

#include <peal/tls/parts/tls_port.h>
#include <peal/tls/parts/tls_side.h>
#include <peal/tls/self_signed.h>

namespace peal::test {
namespace {

class Side final : public detail::TlsSide {
 public:
  explicit Side(bool server) : TlsSide({}), ctx(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method())) {
    SSL_CTX_set_mode(ctx,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(ctx, 1);
    if (!server) return;
    auto made = make_self_signed({.names = {"localhost", "127.0.0.1"}});
    BIO* a = BIO_new_mem_buf(made->chain_pem.data(), (int)made->chain_pem.size());
    BIO* b = BIO_new_mem_buf(made->key_pem.data(), (int)made->key_pem.size());
    SSL_CTX_use_certificate(ctx, PEM_read_bio_X509(a, nullptr, nullptr, nullptr));
    SSL_CTX_use_PrivateKey(ctx, PEM_read_bio_PrivateKey(b, nullptr, nullptr, nullptr));
    SSL_CTX_set_num_tickets(ctx, 1);
  }
  detail::SslPtr make_ssl(const std::string&, const SocketAddress&) override { return detail::SslPtr(SSL_new(ctx)); }
  SSL_CTX* ctx;
};

class Layer final : public StreamLayer {
 public:
  explicit Layer(bool server) : server_(server), side_(std::make_shared<Side>(server)) {}
  std::unique_ptr<StreamPort> over(Engine& engine) const noexcept override {
    return detail::make_tls_port(engine, side_, server_);
  }
  bool server_;
  std::shared_ptr<Side> side_;
};

}  // namespace

const StreamLayer& tls_server() {
  static const Layer layer(true);
  return layer;
}
const StreamLayer& tls_client() {
  static const Layer layer(false);
  return layer;
}

}  // namespace peal::test
