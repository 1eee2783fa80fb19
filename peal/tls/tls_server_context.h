// SPDX-License-Identifier: BSD-3-Clause
// TlsServerContext: the server's side of TLS, as a layer for ServerOptions::connection.layer or
// HttpServerOptions::layer.
//
//   auto tls = peal::TlsServerContext::make({.certificates = {{.chain_file = "site.pem", .key_file = "site.key"}}});
//   if (!tls) return complain(tls.error());
//   peal::HttpServer server(loop, std::move(router), {.layer = tls->get()});
//
// The context speaks TLS 1.3 (RFC 8446) and 1.2 (RFC 5246). Key exchange, ciphers and curves follow Mozilla's
// "intermediate" recommendation. 0-RTT and renegotiation are off.
//
// One context is shared by all loops, and by processes that are forked after it was made. All members may be called on
// any thread. The context must outlive the servers that it is given to.
#pragma once

#include <memory>

#include <peal/engine/stream_port.h>
#include <peal/tls/tls_options.h>

namespace peal {

namespace detail {
class TlsServerState;
}

// Decides whether the server asks clients for a certificate. A client whose certificate does not verify against
// client_roots is always refused.
enum class TlsClientAuth : uint8_t {
  kOff,       // Clients are not asked.
  kWanted,    // Clients are asked. A client without a certificate is served, too.
  kRequired,  // A client without a certificate is refused by the alert certificate_required.
};

// Decides what a client gets if it asks for a host name (SNI) that no certificate covers. A client that asks for no
// name always gets the first certificate.
enum class TlsUnknownName : uint8_t {
  kFirst,    // The client gets the first certificate, and can refuse that itself.
  kRefused,  // The client gets the alert unrecognized_name (RFC 6066 3).
};

struct TlsServerOptions {
  // The server's certificates; at least one. They may be for several host names, and for one name there may be several
  // with different kinds of key (ECDSA, RSA). The server chooses by the name and the signature algorithms in the
  // client's hello:
  // - A certificate covers the subjectAltName entries that it holds. The common name does not count.
  // - "*.example.org" covers exactly one label in place of the star. A certificate for the exact name is preferred.
  // - If two certificates have the same name and the same kind of key, the first one is used.
  std::vector<TlsCertificate> certificates = {};
  TlsUnknownName unknown_name = TlsUnknownName::kFirst;

  // Application protocols that the server speaks over TLS, best first (ALPN, RFC 7301). An HttpServer speaks "http/1.1"
  // and "http/1.0". A client that offers only other protocols gets the alert no_application_protocol. A client that
  // offers no protocol is served. If the list is empty, ALPN is not negotiated.
  std::vector<std::string> applications = {};

  TlsClientAuth client_auth = TlsClientAuth::kOff;
  TlsTrust client_roots = {};  // Certificates that may sign clients' certificates. Used unless client_auth is kOff.

  // True if clients get tickets, by which they resume their sessions (RFC 8446 4.6.1, RFC 5077). The keys that encrypt
  // tickets change with each epoch and are derived from one secret. Every loop, worker process or later program with
  // the same secret can therefore read the tickets. A ticket is accepted only
  // - in the epoch in which it was made and in the next one,
  // - for the host name for which it was made (RFC 6066 3),
  // - while client_auth and client_roots are unchanged, and
  // - as long as TlsLimits::most_session_age allows.
  bool tickets = true;
  Duration ticket_epoch = std::chrono::hours(12);  // From 1 s to 84 h. Fractions of a second are ignored.

  // File with the secret of the tickets: at least 32 random bytes. If the path is empty, the context uses a random
  // secret of its own, which is lost with the context. Processes that are forked after make() share that secret; other
  // programs and machines need the file.
  std::string ticket_secret_file = {};

  // File to which the secrets of all connections are appended (SSLKEYLOGFILE), so that a debugger can decrypt the
  // traffic. If the path is empty, nothing is written.
  std::string key_log_file = {};
  TlsLimits limits = {};
  TlsClock clock = nullptr;  // Null: the system clock.
};

class TlsServerContext final : public StreamLayer {
 public:
  // Reads all files and returns the context. On an error returns a sentence that says which file or option is wrong.
  // Blocks while it reads.
  static TlsResult<std::unique_ptr<TlsServerContext>> make(TlsServerOptions options);
  ~TlsServerContext() override;

  // Reads all files again. New handshakes use the new contents; open connections are not affected. Tickets stay valid
  // unless the ticket secret has changed, or client_auth is on and client_roots have changed. If a file is wrong,
  // returns a sentence that names it, and the old contents stay in use. Blocks while it reads.
  TlsResult<void> reload();

  // Does what reload() does, but only if a file has changed since it was read, or if a file exists now that was missing
  // before. Returns whether the files were read. An error is returned once, and again only after the next change.
  // Blocks while it looks at the files.
  TlsResult<bool> reload_if_changed();

  std::unique_ptr<StreamPort> over(Engine& engine) const noexcept override;
  LayerStats stats() const override;

 private:
  explicit TlsServerContext(std::shared_ptr<detail::TlsServerState> state);

  const std::shared_ptr<detail::TlsServerState> state_;
};

}  // namespace peal
