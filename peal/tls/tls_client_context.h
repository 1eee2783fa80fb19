// SPDX-License-Identifier: BSD-3-Clause
// TlsClientContext: the client's side of TLS as a layer: ClientOptions::connection.layer, HttpClientOptions::layer.
//
//   auto tls = peal::TlsClientContext::make({});
//   if (!tls) die(tls.error());
//   peal::Client client(loop, callbacks, {.connection = {.layer = tls->get()}});
//   client.connect("example.org:443");
//
// The server must prove to be ConnectOptions::host, which a Client takes from the name it connects to: a chain to a
// root that is believed, and that name or address among its subject's alternative ones (RFC 6125, RFC 9525). Sessions
// are kept for each host and port and go on with the next connection. Any thread. It outlives the clients it is given
// to.
#pragma once

#include <memory>
#include <optional>

#include <peal/engine/stream_port.h>
#include <peal/tls/tls_options.h>

namespace peal {

namespace detail {
class TlsClientState;
}

struct TlsClientOptions {
  TlsTrust roots = {};  // instead of the system's; empty: the system's
  // SHA-256 of the public key (SubjectPublicKeyInfo, RFC 7469 2.4) in base64: one of the verified chain must be among
  // them. Empty: any. Where any certificate is accepted, it is the key of the server's own that is compared.
  std::vector<std::string> pins = {};
  std::optional<TlsCertificate> certificate = {};  // for a server that asks for one
  std::vector<std::string> applications = {};      // offered (ALPN); what was chosen is in LayerFacts
  size_t most_sessions = 1024;                     // kept, of all servers; 0: none is resumed
  // Anybody in between can read and change everything: for a test against a machine of one's own.
  bool insecure_accept_any_certificate = false;
  std::string key_log_file = {};  // as the server's
  TlsLimits limits = {};
  TlsClock clock = nullptr;  // null: the machine's
};

class TlsClientContext final : public StreamLayer {
 public:
  static TlsResult<std::unique_ptr<TlsClientContext>> make(TlsClientOptions options);
  ~TlsClientContext() override;

  std::unique_ptr<StreamPort> over(Engine& engine) const noexcept override;
  LayerStats stats() const override;

 private:
  explicit TlsClientContext(std::shared_ptr<detail::TlsClientState> state);

  const std::shared_ptr<detail::TlsClientState> state_;
};

}  // namespace peal
