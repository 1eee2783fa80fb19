// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve_tls.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <peal/base/log.h>

namespace peal::cli {
namespace {

// What makes no sense, as one sentence; empty: it does.
std::string words_trouble(const ServeTlsArguments& words) {
  if (words.certificate_files.size() != words.key_files.size()) {
    return fmt::format("each --tls-cert has its --tls-key, in the same order: there are {} and {}",
                       words.certificate_files.size(), words.key_files.size());
  }
  if (words.ocsp_files.size() > words.certificate_files.size()) {
    return fmt::format("{} --tls-ocsp for {} --tls-cert: they go in the same order", words.ocsp_files.size(),
                       words.certificate_files.size());
  }
  if (!words.client_auth.empty() && words.client_roots_file.empty()) {
    return "--tls-client-auth needs --tls-client-ca: who signs the clients' certificates";
  }
  if (!words.certificate_files.empty()) return {};
  const std::pair<bool, std::string_view> others[] = {{!words.client_roots_file.empty(), "--tls-client-ca"},
                                                      {!words.ticket_secret_file.empty(), "--tls-ticket-secret"},
                                                      {!words.key_log_file.empty(), "--tls-key-log"},
                                                      {words.watches, "--tls-watch"}};
  for (const auto& [given, option] : others) {
    if (given) return fmt::format("{} is about TLS: give --tls-cert and --tls-key", option);
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
                  "Serve over TLS with the certificate chain of this file (PEM), and its --tls-key; several times: for "
                  "several names, and of several kinds of key for one")
      ->allow_extra_args(false);
  command.add_option("--tls-key", words.key_files, "The key of the --tls-cert in the same place (PEM)")
      ->allow_extra_args(false);
  command
      .add_option(
          "--tls-ocsp", words.ocsp_files,
          "An OCSP response (DER) to staple to the --tls-cert in the same place, whose chain has the issuer too")
      ->allow_extra_args(false);
  command.add_option("--tls-client-ca", words.client_roots_file,
                     "Ask clients for a certificate that one of this file has signed (PEM)");
  command
      .add_option("--tls-client-auth", words.client_auth,
                  "Whether a client must have one: wanted, or required (the default)")
      ->check(CLI::IsMember({"wanted", "required"}));
  command.add_option("--tls-ticket-secret", words.ticket_secret_file,
                     "At least 32 random bytes that keys of session tickets follow from, so that sessions go on with "
                     "other machines and the next program; without it, until this one ends");
  command.add_option(
      "--tls-key-log", words.key_log_file,
      "Append the secrets of all connections to this file, for a debugger (default: SSLKEYLOGFILE of the "
      "environment, where it is set)");
  command.add_flag("--tls-watch", words.watches,
                   "Look each second whether a file has changed, and read them anew then, as at SIGHUP");
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
    PEAL_LOG_WARN("the secrets of all connections go to {}: who reads it reads them", logs_to);
  }
  return std::move(*made);
}

Result<std::unique_ptr<TlsReloader>> follow_certificates(TlsServerContext& tls, bool watches, Loop& loop,
                                                         const ServiceManager& manager, bool is_worker) {
  const Duration look_every = watches ? Duration(std::chrono::seconds(1)) : TlsReloader::kOnlyWhenAsked;
  if (is_worker) {
    if (!watches) return nullptr;
    // A master may have read them long ago.
    const TlsResult<bool> looked = tls.reload_if_changed();
    if (!looked) PEAL_LOG_WARN("what was read before stays in use: {}", looked.error());
    return TlsReloader::start(files_of(tls), look_every);
  }
  const auto place = std::make_shared<TlsReloader*>(nullptr);
  const Result<SignalId> heard = loop.on_signal(SIGHUP, [place, &loop, &manager] {
    if (*place == nullptr) return;
    manager.reloading();
    (*place)->reload([&loop, &manager](const TlsResult<void>& done) {
      std::string status = done ? "the certificates were read anew" : "not reloaded: " + done.error();
      loop.post([&manager, status = std::move(status)] { manager.ready(status); });
    });
  });
  if (!heard) return std::unexpected(heard.error());
  Result<std::unique_ptr<TlsReloader>> started = TlsReloader::start(files_of(tls), look_every);
  if (started) *place = started->get();
  return started;
}

}  // namespace peal::cli
