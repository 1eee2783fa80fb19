// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_tls.h>

#include <utility>

#include <fmt/format.h>

#include <peal/base/socket_address.h>
#include <peal/net/host_port.h>
#include <peal/tls/tls_client_context.h>

namespace peal::cli {

std::string_view tls_option_given(const LoadTlsArguments& words) {
  if (!words.roots_file.empty()) return "--tls-ca";
  if (words.insecure) return "--tls-insecure";
  if (!words.name.empty()) return "--tls-name";
  if (!words.certificate_file.empty()) return "--tls-cert";
  if (!words.key_file.empty()) return "--tls-key";
  if (words.resume) return "--tls-resume";
  return words.handshakes ? "--handshakes" : "";
}

std::expected<std::unique_ptr<StreamLayer>, CommandTrouble> make_tls_layer(const LoadTlsArguments& words,
                                                                           const std::string& application) {
  if (words.insecure && !words.roots_file.empty()) {
    return std::unexpected("--tls-ca and --tls-insecure exclude each other: give one of them");
  }
  if (words.certificate_file.empty() != words.key_file.empty()) {
    return std::unexpected("--tls-cert and --tls-key must be given together");
  }
  TlsClientOptions options;
  options.roots.file = words.roots_file;
  options.insecure_accept_any_certificate = words.insecure;
  if (!words.certificate_file.empty()) {
    options.certificate = {.chain_file = words.certificate_file, .key_file = words.key_file};
  }
  if (!application.empty()) options.applications = {application};
  if (!words.resume) options.most_sessions = 0;
  TlsResult<std::unique_ptr<TlsClientContext>> made = TlsClientContext::make(std::move(options));
  if (!made) return std::unexpected(CommandTrouble(kFailed, std::move(made.error())));
  return std::move(*made);
}

std::string name_to_verify(const LoadTlsArguments& words, std::string_view host) {
  if (!words.name.empty()) return words.name;
  const Result<SocketAddress> literal = HostPort(std::string(host), 1).literal();
  return literal && literal->is_set() ? std::string() : std::string(host);
}

std::string name_to_verify_of(const LoadTlsArguments& words, std::string_view target) {
  if (target.starts_with("unix:") || SocketAddress::parse(target)) return words.name;
  return name_to_verify(words, target.substr(0, target.rfind(':')));
}

std::string tls_text(const LoadTlsArguments& words) {
  return fmt::format("TLS{}, {}", words.insecure ? " without verification" : "",
                     words.resume ? "sessions resumed" : "full handshakes");
}

QuietHandshakes::QuietHandshakes(bool on) {
  if (on && before_ == LogLevel::kInfo) set_log_level(LogLevel::kWarn);
}

void add_load_tls_options(CLI::App& command, TlsAsked asked, LoadTlsArguments& words) {
  if (asked == TlsAsked::kByOption) command.add_flag("--tls", words.tls, "Connect to the server over TLS");
  if (asked == TlsAsked::kByUrlOrStart) {
    command.add_flag("--tls", words.tls, "Use https for the servers that the duel starts");
  }
  command.add_option(
      "--tls-ca", words.roots_file,
      "File with the certificates (PEM) that may sign the server's certificate (default: those of the system)");
  command.add_flag("--tls-insecure", words.insecure,
                   "Accept any certificate of the server: only for tests with a server of your own");
  command.add_option("--tls-name", words.name,
                     "Host name that is asked for and that the server's certificate must be for (default: the name or "
                     "the address of the target)");
  command.add_option("--tls-cert", words.certificate_file,
                     "File with the certificate (PEM) that is sent to a server that asks for one (default: none)");
  command.add_option("--tls-key", words.key_file, "File with the private key (PEM) of --tls-cert");
  command.add_flag("--tls-resume", words.resume,
                   "Resume earlier TLS sessions (default: make a full handshake for every connection)");
  command.add_flag("--handshakes", words.handshakes,
                   "Make a new connection and a new handshake for each request, as --requests-per-connection 1 does");
}

}  // namespace peal::cli
