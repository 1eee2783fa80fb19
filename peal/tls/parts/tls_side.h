// SPDX-License-Identifier: BSD-3-Clause
// TlsSide: what a port of the layer needs of the context it was made by, a server's or a client's: a session of
// OpenSSL for each stream, and where to count. Any thread; counted, because ports may outlive their context.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include <openssl/ssl.h>

#include <peal/base/layer_facts.h>
#include <peal/base/socket_address.h>
#include <peal/tls/tls_options.h>

namespace peal::detail {

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

class TlsSide {
 public:
  explicit TlsSide(const TlsLimits& its_limits) : limits(in_range(its_limits)) {}
  virtual ~TlsSide() = default;

  // Set up for its side, without a BIO. `host` and `peer` are whom a client is to reach. Null: OpenSSL has no memory,
  // or a client knows neither a name nor an address that could be verified. It does not outlive its side.
  virtual SslPtr make_ssl(const std::string& host, const SocketAddress& peer) = 0;
  // What the handshake found out that OpenSSL did not judge by itself: a client's pins. X509_V_OK, or the X509_V_ERR_
  // it fails with.
  virtual long verify_further(const SSL* /*ssl*/) { return X509_V_OK; }

  // The counters below, as a layer reports them.
  LayerStats counted() const { return {handshakes, resumed, failed, in_the_clear, under_way, 0, 0, {}}; }

  const TlsLimits limits;
  std::atomic<uint64_t> handshakes = 0, resumed = 0, failed = 0, in_the_clear = 0, under_way = 0;

 private:
  // Without a step there would be no handshake, and a loop that never sleeps.
  static TlsLimits in_range(TlsLimits limits) {
    limits.handshake_steps = std::max(limits.handshake_steps, 1U);
    return limits;
  }
};

}  // namespace peal::detail
