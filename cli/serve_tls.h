// SPDX-License-Identifier: BSD-3-Clause
// What of the command line of `peal serve` is about TLS, and the context it asks for.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <cli/command.h>
#include <cli/tls_reloader.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/process/service_manager.h>
#include <peal/tls/tls_server_context.h>

namespace peal::cli {

// As they stand there.
struct ServeTlsArguments {
  std::vector<std::string> certificate_files;  // none: no TLS
  std::vector<std::string> key_files;          // of the first, the second, ...
  std::vector<std::string> ocsp_files;         // the same, as far as they go
  std::string client_roots_file;
  std::string client_auth;  // empty: required, where there are roots
  std::string ticket_secret_file;
  std::string key_log_file;  // empty: what SSLKEYLOGFILE says
  bool watches = false;
};

void add_serve_tls_options(CLI::App& command, ServeTlsArguments& words);

// Null: TLS is not asked for. The error as complain() wants it. `applications`: as TlsServerOptions has them.
std::expected<std::unique_ptr<TlsServerContext>, CommandTrouble> make_server_tls(
    const ServeTlsArguments& words, const std::vector<std::string>& applications);

// Reads the certificates anew at SIGHUP, which `loop` hears, and when a file changes, where that is watched; tells the
// service manager of the first. In a worker SIGHUP means to leave, so there only the second. Null: nothing is to be
// done. Before there are other threads, since they inherit which signals are blocked. All outlive it.
Result<std::unique_ptr<TlsReloader>> follow_certificates(TlsServerContext& tls, bool watches, Loop& loop,
                                                         const ServiceManager& manager, bool is_worker);

}  // namespace peal::cli
