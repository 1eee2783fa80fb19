// SPDX-License-Identifier: BSD-3-Clause
// TlsServerState: the server's side. New connections begin with what was read of its files last. Any thread.
#pragma once

#include <peal/base/mutex.h>
#include <peal/tls/parts/pem_files.h>
#include <peal/tls/parts/tls_side.h>
#include <peal/tls/tls_server_context.h>

namespace peal::detail {

class TlsServerState final : public TlsSide {
 public:
  static TlsResult<std::shared_ptr<TlsServerState>> make(TlsServerOptions options);

  // False: there was nothing to do, because no file has changed.
  TlsResult<bool> reload(bool only_if_changed);
  LayerStats stats() const;
  SslPtr make_ssl(const std::string& host, const SocketAddress& peer) override;

 private:
  explicit TlsServerState(TlsServerOptions options) : TlsSide(options.limits), options_(std::move(options)) {}
  SslCtxPtr current() const;

  const TlsServerOptions options_;
  std::string secret_;  // for tickets, where no file has one
  Fd key_log_;
  Mutex reading_;  // held while files are read
  PemFiles files_ PEAL_GUARDED_BY(reading_);
  mutable Mutex mutex_;
  SslCtxPtr current_ PEAL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> reloads_ = 0, reloads_failed_ = 0;
};

}  // namespace peal::detail
