// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/tls/tls_codec.h>

#include <array>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <peal/tls/self_signed.h>

namespace peal::test {
namespace {

void give_certificate(SSL_CTX* context) {
  static const SelfSigned own = make_self_signed({.names = {"localhost", "127.0.0.1"}}).value();
  BIO* chain = BIO_new_mem_buf(own.chain_pem.data(), static_cast<int>(own.chain_pem.size()));
  BIO* secret = BIO_new_mem_buf(own.key_pem.data(), static_cast<int>(own.key_pem.size()));
  X509* certificate = PEM_read_bio_X509(chain, nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(secret, nullptr, nullptr, nullptr);
  EXPECT_EQ(SSL_CTX_use_certificate(context, certificate), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(context, key), 1);
  EVP_PKEY_free(key);
  X509_free(certificate);
  BIO_free(secret);
  BIO_free(chain);
}

}  // namespace

TlsCodec::TlsCodec(bool is_server, const SetUp& set_up)
    : context_(SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method())) {
  if (is_server) give_certificate(context_.get());
  ssl_.reset(SSL_new(context_.get()));
  SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  if (is_server) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
  }
  if (set_up) set_up(ssl_.get());
}

void TlsCodec::fail() {
  const unsigned long last = ERR_peek_last_error();
  if (ERR_GET_LIB(last) == ERR_LIB_SSL && ERR_GET_REASON(last) >= SSL_AD_REASON_OFFSET) {
    alert_ = ERR_GET_REASON(last) - SSL_AD_REASON_OFFSET;
  }
  failed_ = true;
  ERR_clear_error();
}

bool TlsCodec::shake_hands() {
  if (ready_ || failed_) return ready_;
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  ready_ = done == 1;
  if (!ready_ && SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ) fail();
  if (!ready_) return false;
  say(std::exchange(unsaid_, {}));
  if (ends_) end();
  return true;
}

void TlsCodec::hear(std::string_view wire) {
  EXPECT_EQ(BIO_write(SSL_get_rbio(ssl_.get()), wire.data(), static_cast<int>(wire.size())),
            static_cast<int>(wire.size()));
  if (shake_hands()) read();
}

void TlsCodec::read() {
  std::array<char, 16 * 1024> room;
  while (!ended_ && !failed_) {
    ERR_clear_error();
    const int count = SSL_read(ssl_.get(), room.data(), room.size());
    if (count > 0) {
      plain_.append(room.data(), static_cast<size_t>(count));
      continue;
    }
    const int why = SSL_get_error(ssl_.get(), count);
    if (why == SSL_ERROR_WANT_READ) return;
    if (why == SSL_ERROR_ZERO_RETURN) {
      ended_ = true;
    } else {
      fail();
    }
  }
}

void TlsCodec::say(std::string_view plain) {
  if (!ready_) {
    unsaid_.append(plain);
    return;
  }
  if (plain.empty() || failed_) return;
  EXPECT_EQ(SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size())), static_cast<int>(plain.size()));
}

void TlsCodec::end() {
  ends_ = true;
  if (ready_ && !failed_) SSL_shutdown(ssl_.get());
}

std::string TlsCodec::take_wire() {
  BIO* out = SSL_get_wbio(ssl_.get());
  std::string wire(BIO_ctrl_pending(out), '\0');
  if (!wire.empty()) BIO_read(out, wire.data(), static_cast<int>(wire.size()));
  return wire;
}

}  // namespace peal::test
