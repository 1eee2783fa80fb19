// SPDX-License-Identifier: BSD-3-Clause
// Pages 4 and 5 of the guide: the notebook over HTTP, or over https if a certificate is given.
// `notes_http ADDRESS TOKEN [CERTIFICATE KEY]`
#include <cstdio>

#include <fmt/core.h>

#include <peal/http/server/http_server.h>
#include <peal/tls/tls_server_context.h>

#include "notes_api.h"

namespace {

int serve(const char* address, const char* token, const peal::HttpServerOptions& options) {
  // Quoted in docs: [main]
  NotesApi api(token);
  peal::Router router;
  api.add_routes(router);
  peal::Loop loop;
  peal::HttpServer server(loop, std::move(router), options);
  const peal::Result<peal::SocketAddress> bound = server.listen(address);
  // End of quote: [main]
  if (!bound) {
    fmt::print(stderr, "cannot listen on {}: {}\n", address, bound.error().message());
    return 1;
  }
  fmt::print("listening on {}\n", bound->to_string());
  std::fflush(stdout);
  return loop.stop_on_signals() && loop.run() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) {
    fmt::print(stderr, "usage: notes_http ADDRESS TOKEN [CERTIFICATE KEY]\n");
    return 2;
  }
  peal::HttpServerOptions options;
  if (argc == 3) return serve(argv[1], argv[2], options);
  // Quoted in docs: [https]
  const auto tls = peal::TlsServerContext::make(
      {.certificates = {{.chain_file = argv[3], .key_file = argv[4]}}, .applications = {"http/1.1", "http/1.0"}});
  if (!tls) {
    fmt::print(stderr, "{}\n", tls.error());
    return 1;
  }
  options.layer = tls->get();
  return serve(argv[1], argv[2], options);
  // End of quote: [https]
}
