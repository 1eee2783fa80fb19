// SPDX-License-Identifier: BSD-3-Clause
// The TLS options of `peal load`, and the TLS layer that is made from them.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include <cli/command.h>
#include <peal/base/log.h>
#include <peal/engine/stream_port.h>

namespace peal::cli {

// The values of the TLS options of `peal load`.
struct LoadTlsArguments {
  // True if --tls was given. `peal load http` has no option --tls, because the URL of the target says whether TLS is
  // used. `peal load duel http` has the option --tls, because the duel can start servers itself, and the user gives no
  // URL for these servers.
  bool tls = false;
  std::string roots_file;  // if empty, the system's root certificates are used
  bool insecure = false;
  std::string name;  // host name that the server's certificate must contain; if empty, the host of the target
  std::string certificate_file, key_file;
  bool resume = false;
  bool handshakes = false;  // true: a new connection and a handshake for each request
};

// Returns the name of the first given option that needs TLS, such as "--tls-ca". Returns an empty text if no such
// option was given.
std::string_view tls_option_given(const LoadTlsArguments& words);

// Makes the TLS layer. `application` is the protocol that the client asks for by ALPN, such as "http/1.1". If it is
// empty, ALPN is not negotiated.
std::expected<std::unique_ptr<StreamLayer>, CommandTrouble> make_tls_layer(const LoadTlsArguments& words,
                                                                           const std::string& application);
// Returns the host name that the certificate of a server must contain: that of --tls-name, or else `host`. If there is
// no --tls-name and `host` is an IP address, the result is empty. The certificate must then contain this address.
std::string name_to_verify(const LoadTlsArguments& words, std::string_view host);
// Returns the host name that the certificate of `target` must contain. `target` is HOST:PORT, [HOST]:PORT or unix:PATH.
// The result is the name of --tls-name, or else HOST. If there is no --tls-name, the result is empty for an IP address
// and for unix:PATH.
std::string name_to_verify_of(const LoadTlsArguments& words, std::string_view target);
// Returns a description of the TLS connections for reports, such as "TLS, full handshakes".
std::string tls_text(const LoadTlsArguments& words);

// QuietHandshakes raises the log level from kInfo to kWarn while it exists. TLS logs failed handshakes at kInfo, but
// the lines are not needed, because the report of the run counts these handshakes and gives their reasons.
// QuietHandshakes does nothing if `on` is false or if the log level is not kInfo.
class QuietHandshakes {
 public:
  explicit QuietHandshakes(bool on);
  ~QuietHandshakes() { set_log_level(before_); }
  QuietHandshakes(const QuietHandshakes&) = delete;
  QuietHandshakes& operator=(const QuietHandshakes&) = delete;

 private:
  const LogLevel before_ = log_level();
};

enum class TlsAsked : uint8_t {
  kByOption,      // TLS is used with --tls
  kByUrl,         // TLS is used for a URL with https://
  kByUrlOrStart,  // TLS is used for a URL with https://, and with --tls for the servers that a duel starts
};
void add_load_tls_options(CLI::App& command, TlsAsked asked, LoadTlsArguments& words);

}  // namespace peal::cli
