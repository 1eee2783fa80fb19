// SPDX-License-Identifier: BSD-3-Clause
// shake(): does a TLS handshake between two sides in memory, without a loop or a socket.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <peal/base/socket_address.h>

namespace peal::test {

using Tune = std::function<void(SSL*)>;

struct ShakeOptions {
  std::string host = "example.org";
  std::string peer = "127.0.0.1:443";
  Tune client = [](SSL*) {}, server = [](SSL*) {};
};

// The outcome of a handshake. `client_error` says what the client has found wrong, or which alert the client has
// received. `server_error` says the same for the server. Each text is the reason that OpenSSL gives. The text is
// "closed" after close_notify, and "no reason" if OpenSSL gives none. The text of a side without an error is empty.
struct Shaken {
  std::shared_ptr<SSL> client, server;
  std::string client_error, server_error;

  bool is_done() const { return client && server && client_error.empty() && server_error.empty(); }
  bool is_resumed() const { return SSL_session_reused(client.get()) == 1 && SSL_session_reused(server.get()) == 1; }
  std::string application() const {
    const unsigned char* name = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(client.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  // Returns the common name in the certificate that the client has received from the server.
  std::string common_name() const {
    std::array<char, 256> name{};
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(client.get())), NID_commonName,
                              name.data(), name.size());
    return name.data();
  }
};

// Returns the error of one step of a handshake, as text. Returns "" if the step has succeeded or must wait for bytes of
// the other side.
inline std::string error_of(SSL* ssl, int result) {
  const int kind = SSL_get_error(ssl, result);
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  if (result > 0 || kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return "";
  return kind == SSL_ERROR_ZERO_RETURN ? "closed" : reason == nullptr ? "no reason" : reason;
}

// Lets both sides continue 20 times. That is enough for the handshake, and for the tickets and alerts that follow it.
inline void exchange(Shaken& shaken) {
  for (int round = 0; round < 20; ++round) {
    for (const bool is_client : {true, false}) {
      SSL* ssl = (is_client ? shaken.client : shaken.server).get();
      std::string& error = is_client ? shaken.client_error : shaken.server_error;
      char byte = 0;
      if (!error.empty()) continue;
      error = error_of(ssl, SSL_is_init_finished(ssl) == 1 ? SSL_read(ssl, &byte, 1) : SSL_do_handshake(ssl));
    }
  }
}

// Does a TLS handshake in memory. `client` is a TlsClientState and `server` is a TlsServerState. Other classes work,
// too, if their make_ssl() takes the same arguments.
template <class Client, class Server>
Shaken shake(Client& client, Server& server, const ShakeOptions& options = {}) {
  const SocketAddress peer = SocketAddress::parse(options.peer).value_or(SocketAddress());
  Shaken shaken{.client = client.make_ssl(options.host, peer), .server = server.make_ssl("", peer)};
  if (!shaken.client || !shaken.server) return shaken;
  EXPECT_EQ(ERR_peek_error(), 0U) << "make_ssl() left an error in the queue";
  options.client(shaken.client.get());
  options.server(shaken.server.get());
  BIO *near = nullptr, *far = nullptr;
  EXPECT_EQ(BIO_new_bio_pair(&near, 0, &far, 0), 1);
  SSL_set_bio(shaken.client.get(), near, near);
  SSL_set_bio(shaken.server.get(), far, far);
  exchange(shaken);
  return shaken;
}

inline ShakeOptions only(int version, ShakeOptions options = {}) {
  options.client = [before = options.client, version](SSL* ssl) {
    before(ssl);
    SSL_set_min_proto_version(ssl, version);
    SSL_set_max_proto_version(ssl, version);
  };
  return options;
}

}  // namespace peal::test
