// SPDX-License-Identifier: BSD-3-Clause
// TlsSide: the state of a context, a server's or a client's, which the context shares with its ports. A port gets from
// it an SSL object for each stream, and counts in it. Held by shared_ptr, because ports may outlive the context. May be
// used on any thread.
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

  // Returns an SSL object that is set up for a server or a client and has no BIO yet. The SSL object must not outlive
  // this TlsSide.
  //   - A client's SSL object verifies that the server is `host` or, if `host` is empty, that the server has the
  //     address `peer`.
  //   - A server's state ignores `host` and `peer`.
  // Returns null if OpenSSL has no memory, or if a client has neither a valid name nor an address to verify.
  virtual SslPtr make_ssl(const std::string& host, const SocketAddress& peer) = 0;
  // Called after a handshake, to check what OpenSSL does not check itself: the pins of a client. Returns X509_V_OK, or
  // the X509_V_ERR_ constant with which the handshake fails.
  virtual long verify_further(const SSL* /*ssl*/) { return X509_V_OK; }

  // Returns a LayerStats with the values of `handshakes`, `resumed`, `failed`, `in_the_clear` and `under_way`. Its
  // other members are 0.
  LayerStats counted() const { return {handshakes, resumed, failed, in_the_clear, under_way, 0, 0, {}}; }

  const TlsLimits limits;

  // `handshakes`, `resumed`, `failed`, `in_the_clear` and `under_way` have the meaning of the same members of
  // LayerStats. All TlsPorts of the context count in them: over() makes a TlsPort for each loop of a server and for
  // each client, and a TlsPort holds many streams.
  std::atomic<uint64_t> handshakes = 0, resumed = 0, failed = 0, in_the_clear = 0, under_way = 0;

 private:
  // Raises handshake_steps to 1 if it is 0. With 0 no handshake would progress, and the loop would never sleep.
  static TlsLimits in_range(TlsLimits limits) {
    limits.handshake_steps = std::max(limits.handshake_steps, 1U);
    return limits;
  }
};

}  // namespace peal::detail
