// SPDX-License-Identifier: BSD-3-Clause
// The TLS options of `peal serve`, and the TlsServerContext that is made from them.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <cli/command.h>
#include <cli/serve/tls_reloader.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/process/service_manager.h>
#include <peal/tls/tls_server_context.h>

namespace peal::cli {

// The values of the TLS options of `peal serve`.
struct ServeTlsArguments {
  std::vector<std::string> certificate_files;  // if empty, the server does not speak TLS
  std::vector<std::string> key_files;          // key_files[i] belongs to certificate_files[i]
  std::vector<std::string> ocsp_files;         // ocsp_files[i] belongs to certificate_files[i]; may be shorter
  std::string client_roots_file;
  std::string client_auth;  // "wanted" or "required"; empty means "required", if client_roots_file is set
  std::string ticket_secret_file;
  std::string key_log_file;  // if empty, the file that SSLKEYLOGFILE names is used
  bool watches = false;
};

void add_serve_tls_options(CLI::App& command, ServeTlsArguments& words);

// Makes the TLS context of the server. Returns null if --tls-cert was not given. `applications` are the names of the
// protocols that the server speaks over TLS (ALPN), such as "http/1.1". If there are none, ALPN is not negotiated.
std::expected<std::unique_ptr<TlsServerContext>, CommandTrouble> make_server_tls(
    const ServeTlsArguments& words, const std::vector<std::string>& applications);

// Makes a TlsReloader. The TlsReloader reads the files of `tls` again in two cases:
// - `loop` receives SIGHUP. `manager` tells the service manager when this reload begins and ends. A worker process does
//   not reload at SIGHUP, because the master sends SIGHUP to make a worker leave.
// - A file has changed, and `watches` is true. The files are checked once a second.
//
// Returns null for a worker process if `watches` is false, because neither case can happen. Call this function on the
// thread of `loop`. All arguments must outlive the result. Destroy the result only after loop.run() has returned,
// because the handler of SIGHUP uses the TlsReloader.
Result<std::unique_ptr<TlsReloader>> follow_certificates(TlsServerContext& tls, bool watches, Loop& loop,
                                                         const ServiceManager& manager, bool is_worker);

}  // namespace peal::cli
