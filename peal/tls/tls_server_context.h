// SPDX-License-Identifier: BSD-3-Clause
// TlsServerContext: the server's side of TLS as a layer: ServerOptions::connection.layer, HttpServerOptions::layer.
//
//   auto tls = peal::TlsServerContext::make({.certificates = {{.chain_file = "site.pem", .key_file = "site.key"}}});
//   if (!tls) die(tls.error());
//   peal::HttpServer server(loops, router, {.layer = tls->get()});
//
// TLS 1.3 (RFC 8446) and 1.2 (RFC 5246); key exchange, ciphers and curves after Mozilla's "intermediate" page; 0-RTT
// and renegotiation are off. It is shared by all loops, and by processes that are forked after it was made. Any thread.
// It outlives the servers it is given to.
#pragma once

#include <memory>

#include <peal/engine/stream_port.h>
#include <peal/tls/tls_options.h>

namespace peal {

namespace detail {
class TlsServerState;
}

enum class TlsClientAuth : uint8_t {
  kOff,
  kWanted,    // a client that gives none is served all the same; one that does not verify is not
  kRequired,  // alert certificate_required
};

// A client that asks for a name that no certificate is for.
enum class TlsUnknownName : uint8_t {
  kFirst,    // gets the first certificate, as does one that asks for no name: it can judge by itself
  kRefused,  // alert unrecognized_name (RFC 6066 3); one that asks for no name gets the first
};

struct TlsServerOptions {
  // For several names, and of several kinds of key (ECDSA, RSA) for one: the client's hello decides (SNI, signature
  // algorithms). Each is for the alternative names of its subject; "*.example.org" is for one label in its place, and a
  // name of its own goes first. Of two with the same name and kind of key the first one is shown. At least one.
  std::vector<TlsCertificate> certificates = {};
  TlsUnknownName unknown_name = TlsUnknownName::kFirst;
  // What is spoken over it, best first (ALPN, RFC 7301): of an HttpServer "http/1.1" and "http/1.0". A client that
  // offers others alone gets the alert no_application_protocol; one that offers none is served. Empty: not negotiated.
  std::vector<std::string> applications = {};
  TlsClientAuth client_auth = TlsClientAuth::kOff;
  TlsTrust client_roots = {};  // with client_auth: who signs the clients' certificates
  // Sessions are resumed by tickets (RFC 8446 4.6.1, RFC 5077), whose keys change with each epoch and follow from one
  // secret, so that whoever has it (loops, workers, the next program) can read them. A ticket is good for two epochs,
  // for the name it was made for (RFC 6066 3), and while the same client_roots are believed; for how long a chain of
  // them is: TlsLimits::most_session_age.
  bool tickets = true;
  Duration ticket_epoch = std::chrono::hours(12);  // of whole seconds, 84 hours at most
  // At least 32 bytes, random; empty: one is drawn, and lives as long as the context.
  std::string ticket_secret_file = {};
  std::string key_log_file = {};  // for a debugger: the secrets of all connections are appended to it (SSLKEYLOGFILE)
  TlsLimits limits = {};
  TlsClock clock = nullptr;  // null: the machine's
};

class TlsServerContext final : public StreamLayer {
 public:
  static TlsResult<std::unique_ptr<TlsServerContext>> make(TlsServerOptions options);
  ~TlsServerContext() override;

  // Reads all files anew. New handshakes use what is there now, old connections and tickets live on, but no ticket of a
  // client that was asked for a certificate where the client_roots are others; with an error nothing has changed.
  // Blocks while it reads.
  TlsResult<void> reload();
  // The same where a file has changed since it was read, or is there now and was not; false: none has. What was no good
  // is said once. Blocks while it looks.
  TlsResult<bool> reload_if_changed();

  std::unique_ptr<StreamPort> over(Engine& engine) const noexcept override;
  LayerStats stats() const override;

 private:
  explicit TlsServerContext(std::shared_ptr<detail::TlsServerState> state);

  const std::shared_ptr<detail::TlsServerState> state_;
};

}  // namespace peal
