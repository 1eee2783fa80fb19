// SPDX-License-Identifier: BSD-3-Clause
// TlsClientState: the TlsSide of a client. Sets up connections so that OpenSSL verifies the server, and keeps the
// sessions that servers give. May be used on any thread.
#pragma once

#include <peal/tls/parts/pem_files.h>
#include <peal/tls/parts/session_cache.h>
#include <peal/tls/parts/tls_side.h>
#include <peal/tls/tls_client_context.h>

namespace peal::detail {

class TlsClientState final : public TlsSide {
 public:
  // Reads all files and returns the state. On an error returns a sentence that says which file or option is wrong.
  static TlsResult<std::shared_ptr<TlsClientState>> make(TlsClientOptions options);

  LayerStats stats() const;
  SslPtr make_ssl(const std::string& host, const SocketAddress& peer) override;
  // Returns X509_V_OK if there are no pins, if the session was resumed, or if the verified chain holds a pinned key. If
  // insecure_accept_any_certificate is set, the key of the server's own certificate must be pinned instead. Otherwise
  // returns X509_V_ERR_APPLICATION_VERIFICATION.
  long verify_further(const SSL* ssl) override;
  // Returns how many sessions are kept.
  size_t sessions() const { return sessions_.size(); }

 private:
  explicit TlsClientState(TlsClientOptions options)
      : TlsSide(options.limits), options_(std::move(options)), sessions_(options_.most_sessions) {}

  // Sets up ctx_ from the options. Returns false if a file or an option is wrong; files.error() then says which.
  bool load(PemFiles& files);

  // Sets the name or the address that the server's certificate must contain, and sends a name in the hello (SNI). If
  // `host` is empty, the certificate must contain the address of `peer`. Returns false if `host` is no valid name. If
  // `host` is empty and `peer` has no IP address, returns insecure_accept_any_certificate.
  bool set_expected_peer(SSL* ssl, const std::string& host, const SocketAddress& peer) const;

  // Offers the server a session that was kept for this host and port, if the session may be resumed. Also stores in
  // `ssl` the key under which keep_session() keeps the new sessions of this connection.
  void offer_kept_session(SSL* ssl, const std::string& host, const SocketAddress& peer);

  // Called by OpenSSL when the server has given a session (SSL_CTX_sess_set_new_cb(3)). Keeps a copy of the session,
  // unless verify_further() does not accept the server. Returns 0, which leaves the ownership of `session` with
  // OpenSSL.
  static int keep_session(SSL* ssl, SSL_SESSION* session);

  const TlsClientOptions options_;
  Fd key_log_;
  std::chrono::sys_seconds valid_until_ = {};  // Earliest expiry in the client's own chain; 0 if it has none.
  SessionCache sessions_;
  SslCtxPtr ctx_;
};

}  // namespace peal::detail
