// SPDX-License-Identifier: BSD-3-Clause
// SimTlsLayers: the client's and the server's side of TLS in a simulated network. Everything they do follows from the
// seed.
#pragma once

#include <memory>
#include <string>

#include <peal/tls/tls_client_context.h>
#include <peal/tls/tls_server_context.h>
#include <tests/support/tls/sim_secrets.h>
#include <tests/support/tls/tls_layers.h>

namespace peal::test {

class SimTlsLayers {
 public:
  // If `world` is not null, makes TLS layers for this simulated network. OpenSSL then takes its random bytes from
  // `seed`, and the layers check certificates by the clock of `world`. If `world` is null, makes no layers, and
  // server() and client() return the layers of tls_layers.h.
  SimTlsLayers(uint64_t seed, const SimWorld* world, const TlsLimits& limits = {}) {
    if (world == nullptr) return;
    randomness_ = std::make_unique<SeededRandomness>(seed);
    clock_ = std::make_unique<SimClock>(*world);
    TlsServerOptions serving{.limits = limits, .clock = sim_clock};
    serving.certificates.push_back({.chain_pem = std::string(kSimCertificate), .key_pem = std::string(kSimKey)});
    server_ = TlsServerContext::make(std::move(serving)).value();
    client_ =
        TlsClientContext::make({.roots = {.pem = std::string(kSimCertificate)}, .limits = limits, .clock = sim_clock})
            .value();
  }
  const StreamLayer& server() const { return server_ ? *server_ : tls_server(); }
  const StreamLayer& client() const { return client_ ? *client_ : tls_client(); }
  // Returns the host name that the client must find in the server's certificate.
  std::string_view host() const { return client_ ? "sim.test" : "localhost"; }

 private:
  std::unique_ptr<SeededRandomness> randomness_;
  std::unique_ptr<SimClock> clock_;
  std::unique_ptr<TlsServerContext> server_;
  std::unique_ptr<TlsClientContext> client_;
};

}  // namespace peal::test
