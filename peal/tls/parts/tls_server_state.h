// SPDX-License-Identifier: BSD-3-Clause
// TlsServerState: the TlsSide of a server. New connections use the certificates and settings that were loaded last. May
// be used on any thread.
#pragma once

#include <peal/base/mutex.h>
#include <peal/tls/parts/pem_files.h>
#include <peal/tls/parts/tls_side.h>
#include <peal/tls/tls_server_context.h>

namespace peal::detail {

class TlsServerState final : public TlsSide {
 public:
  // Reads all files and returns the state. On an error returns a sentence that says which file or option is wrong.
  static TlsResult<std::shared_ptr<TlsServerState>> make(TlsServerOptions options);

  // Reads all files again and returns true. If `only_if_changed` is set and no file has changed, reads nothing and
  // returns false. On an error returns a sentence that says which file or option is wrong; the files that were loaded
  // before then stay in use.
  TlsResult<bool> reload(bool only_if_changed);
  LayerStats stats() const;
  SslPtr make_ssl(const std::string& host, const SocketAddress& peer) override;

 private:
  explicit TlsServerState(TlsServerOptions options) : TlsSide(options.limits), options_(std::move(options)) {}
  // Returns a counted reference to the SSL_CTX that was loaded last.
  SslCtxPtr current() const;

  const TlsServerOptions options_;
  std::string secret_;  // Random secret for tickets. Used if no ticket_secret_file is given.
  Fd key_log_;
  Mutex reading_;  // Held while files are read.
  PemFiles files_ PEAL_GUARDED_BY(reading_);
  mutable Mutex mutex_;
  SslCtxPtr current_ PEAL_GUARDED_BY(mutex_);  // The SSL_CTX with which new connections begin.
  std::atomic<uint64_t> reloads_ = 0, reloads_failed_ = 0;
};

}  // namespace peal::detail
