// SPDX-License-Identifier: BSD-3-Clause
// TlsClientContext: the client's side of TLS, as a layer for ClientOptions::connection.layer or
// HttpClientOptions::layer.
//
//   auto tls = peal::TlsClientContext::make({});
//   if (!tls) return complain(tls.error());
//   peal::Client client(loop, std::move(callbacks), {.connection = {.layer = tls->get()}});
//   client.connect("example.org:443");
//
// The server must prove that it is the host in ConnectOptions::host. A Client sets that to the name to which it
// connects. The proof has two parts (RFC 6125, RFC 9525):
// - The server's certificate chain leads to a trusted root.
// - Its certificate holds the name, or the address, among its subjectAltName entries.
//
// The context keeps sessions for each host and port, and the next connection resumes one. All members may be called on
// any thread. The context must outlive the clients that it is given to.
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
  TlsTrust roots = {};  // Certificates that are trusted. If empty, those of the system are trusted.

  // Public keys of which the server's verified chain must contain at least one. Each is the SHA-256 of a
  // SubjectPublicKeyInfo in base64 (RFC 7469 2.4). If the list is empty, any key is accepted. If
  // insecure_accept_any_certificate is set, the key of the server's own certificate must be in the list.
  std::vector<std::string> pins = {};
  std::optional<TlsCertificate> certificate = {};  // Shown to a server that asks for a certificate.

  // Application protocols that are offered to the server (ALPN), best first. LayerFacts::application is the protocol
  // that the server has chosen.
  std::vector<std::string> applications = {};
  // The largest number of sessions kept, for all servers together. 0: no session is resumed.
  size_t most_sessions = 1024;

  // True if the server's certificate is not verified. Anybody in the network can then read and change everything. Use
  // it only for a test against your own machine.
  bool insecure_accept_any_certificate = false;

  // File to which the secrets of all connections are appended (SSLKEYLOGFILE), so that a debugger can decrypt the
  // traffic. If the path is empty, nothing is written.
  std::string key_log_file = {};
  TlsLimits limits = {};
  TlsClock clock = nullptr;  // Null: the system clock.
};

class TlsClientContext final : public StreamLayer {
 public:
  // Reads all files and returns the context. On an error returns a sentence that says which file or option is wrong.
  // Blocks while it reads.
  static TlsResult<std::unique_ptr<TlsClientContext>> make(TlsClientOptions options);
  ~TlsClientContext() override;

  std::unique_ptr<StreamPort> over(Engine& engine) const noexcept override;
  LayerStats stats() const override;

 private:
  explicit TlsClientContext(std::shared_ptr<detail::TlsClientState> state);

  const std::shared_ptr<detail::TlsClientState> state_;
};

}  // namespace peal
