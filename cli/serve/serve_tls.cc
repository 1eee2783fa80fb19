// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve/serve_tls.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <cli/one_of.h>
#include <peal/base/log.h>

namespace peal::cli {
namespace {

// Returns a sentence about options that are missing or that contradict each other. Returns an empty text if there are
// no such options.
std::string words_trouble(const ServeTlsArguments& words) {
  if (words.certificate_files.size() != words.key_files.size()) {
    return fmt::format("each --tls-cert needs its own --tls-key, in the same order: there are {} and {}",
                       words.certificate_files.size(), words.key_files.size());
  }
  if (words.ocsp_files.size() > words.certificate_files.size()) {
    return fmt::format("{} --tls-ocsp for {} --tls-cert: give at most one for each", words.ocsp_files.size(),
                       words.certificate_files.size());
  }
  if (!words.client_auth.empty() && words.client_roots_file.empty()) {
    return "--tls-client-auth needs --tls-client-ca, the certificates that sign the clients' certificates";
  }
  if (!words.certificate_files.empty()) return {};
  const std::pair<bool, std::string_view> others[] = {{!words.client_roots_file.empty(), "--tls-client-ca"},
                                                      {!words.ticket_secret_file.empty(), "--tls-ticket-secret"},
                                                      {!words.key_log_file.empty(), "--tls-key-log"},
                                                      {words.watches, "--tls-watch"}};
  for (const auto& [given, option] : others) {
    if (given) return fmt::format("{} needs TLS: give --tls-cert and --tls-key", option);
  }
  return {};
}

TlsClientAuth client_auth(const ServeTlsArguments& words) {
  if (words.client_roots_file.empty()) return TlsClientAuth::kOff;
  return words.client_auth == "wanted" ? TlsClientAuth::kWanted : TlsClientAuth::kRequired;
}

}  // namespace

void add_serve_tls_options(CLI::App& command, ServeTlsArguments& words) {
  command
      .add_option("--tls-cert", words.certificate_files,
                  "Serve over TLS with the certificate chain in this file (PEM); needs --tls-key; may be given several "
                  "times, for several host names or for several kinds of key (default: no TLS)")
      ->allow_extra_args(false);
  command
      .add_option("--tls-key", words.key_files,
                  "File with the private key (PEM) of a --tls-cert: the first key belongs to the first certificate, "
                  "and so on")
      ->allow_extra_args(false);
  command
      .add_option("--tls-ocsp", words.ocsp_files,
                  "File with an OCSP response (DER) to staple to a --tls-cert: the first response belongs to the first "
                  "certificate, and so on; the chain of that certificate must hold its issuer too")
      ->allow_extra_args(false);
  command.add_option("--tls-client-ca", words.client_roots_file,
                     "Ask clients for a certificate that is signed by one in this file (PEM; default: do not ask)");
  command
      .add_option("--tls-client-auth", words.client_auth,
                  "With --tls-client-ca, what happens to a client without a certificate; required: it is refused (the "
                  "default); wanted: it is served")
      ->check(one_of({"wanted", "required"}));
  command.add_option("--tls-ticket-secret", words.ticket_secret_file,
                     "File with at least 32 random bytes, from which the keys of session tickets are made; servers "
                     "with the same file, and later runs, resume each other's sessions (default: a random secret, "
                     "which is lost when this program ends)");
  command.add_option(
      "--tls-key-log", words.key_log_file,
      "Append the secrets of all connections to this file, so that a debugger can decrypt them (default: the file "
      "that the environment variable SSLKEYLOGFILE names, if it is set)");
  command.add_flag("--tls-watch", words.watches,
                   "Check each second whether a file of the --tls options has changed; if so, read all of them again");
}

std::expected<std::unique_ptr<TlsServerContext>, CommandTrouble> make_server_tls(
    const ServeTlsArguments& words, const std::vector<std::string>& applications) {
  if (std::string trouble = words_trouble(words); !trouble.empty()) {
    return std::unexpected(CommandTrouble(std::move(trouble)));
  }
  if (words.certificate_files.empty()) return nullptr;
  TlsServerOptions options;
  for (size_t i = 0; i < words.certificate_files.size(); ++i) {
    TlsCertificate certificate{.chain_file = words.certificate_files[i], .key_file = words.key_files[i]};
    if (i < words.ocsp_files.size()) certificate.ocsp_file = words.ocsp_files[i];
    options.certificates.push_back(std::move(certificate));
  }
  options.applications = applications;
  options.client_auth = client_auth(words);
  options.client_roots.file = words.client_roots_file;
  options.ticket_secret_file = words.ticket_secret_file;
  options.key_log_file = words.key_log_file;
  const char* const key_log = std::getenv("SSLKEYLOGFILE");
  if (options.key_log_file.empty() && key_log != nullptr) options.key_log_file = key_log;
  const std::string logs_to = options.key_log_file;
  TlsResult<std::unique_ptr<TlsServerContext>> made = TlsServerContext::make(std::move(options));
  if (!made) return std::unexpected(CommandTrouble(kFailed, std::move(made.error())));
  if (!logs_to.empty()) {
    PEAL_LOG_WARN("the secrets of all connections go to {}: whoever can read it can decrypt them", logs_to);
  }
  return std::move(*made);
}

Result<std::unique_ptr<TlsReloader>> follow_certificates(TlsServerContext& tls, bool watches, Loop& loop,
                                                         const ServiceManager& manager, bool is_worker) {
  const Duration look_every = watches ? Duration(std::chrono::seconds(1)) : TlsReloader::kOnlyWhenAsked;
  if (is_worker) {
    if (!watches) return nullptr;
    // The master may have read the files long ago. A worker therefore checks once, at its start, whether they have
    // changed.
    const TlsResult<bool> looked = tls.reload_if_changed();
    if (!looked)
      PEAL_LOG_WARN("the certificates cannot be read again, and the old ones stay in use: {}", looked.error());
    return TlsReloader::start(files_of(tls), look_every);
  }
  const auto place = std::make_shared<TlsReloader*>(nullptr);
  const Result<SignalId> heard = loop.on_signal(SIGHUP, [place, &loop, &manager] {
    if (*place == nullptr) return;
    manager.reloading();
    (*place)->reload([&loop, &manager](const TlsResult<void>& done) {
      std::string status = done ? "the certificates were read again" : "not reloaded: " + done.error();
      loop.post([&manager, status = std::move(status)] { manager.ready(status); });
    });
  });
  if (!heard) return std::unexpected(heard.error());
  Result<std::unique_ptr<TlsReloader>> started = TlsReloader::start(files_of(tls), look_every);
  if (started) *place = started->get();
  return started;
}

}  // namespace peal::cli
