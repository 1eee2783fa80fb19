// SPDX-License-Identifier: BSD-3-Clause
// TlsClientState: the client's side: whom a connection is to reach is verified, and its sessions are kept. Any thread.
#pragma once

#include <peal/tls/parts/pem_files.h>
#include <peal/tls/parts/session_cache.h>
#include <peal/tls/parts/tls_side.h>
#include <peal/tls/tls_client_context.h>

namespace peal::detail {

class TlsClientState final : public TlsSide {
 public:
  static TlsResult<std::shared_ptr<TlsClientState>> make(TlsClientOptions options);

  LayerStats stats() const;
  SslPtr make_ssl(const std::string& host, const SocketAddress& peer) override;
  // Whether one of the pinned keys is in the verified chain; where nothing is verified, whether it is the peer's own.
  long verify_further(const SSL* ssl) override;
  size_t sessions() const { return sessions_.size(); }

 private:
  explicit TlsClientState(TlsClientOptions options)
      : TlsSide(options.limits), options_(std::move(options)), sessions_(options_.most_sessions) {}

  bool load(PemFiles& files);
  // Whom the peer is to be. False: nobody, or a name that is none.
  bool set_expected_peer(SSL* ssl, const std::string& host, const SocketAddress& peer) const;
  void offer_kept_session(SSL* ssl, const std::string& host, const SocketAddress& peer);
  static int keep_session(SSL* ssl, SSL_SESSION* session);

  const TlsClientOptions options_;
  Fd key_log_;
  std::chrono::sys_seconds valid_until_ = {};
  SessionCache sessions_;
  SslCtxPtr ctx_;
};

}  // namespace peal::detail
