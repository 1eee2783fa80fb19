// SPDX-License-Identifier: BSD-3-Clause
// Serves a folder as a web site over https: `https_site FOLDER CERTIFICATE KEY [ADDRESS]`. CERTIFICATE is a PEM file
// that includes the chain.
//
// At SIGHUP, the program reads the certificate and the key again. Send SIGHUP from certbot's --deploy-hook. Open
// connections stay open. If the new files are wrong, the old certificate stays in use. For port 80, run the example
// `to_https` beside this program. `peal tls self-signed` makes a certificate for tests.
#include <csignal>

#include <examples/shared/service.h>

#include <peal/http/files/static_files.h>
#include <peal/http/server/http_server.h>
#include <peal/tls/tls_server_context.h>

using namespace peal;

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: https_site FOLDER CERTIFICATE KEY [ADDRESS]\n");
    return 2;
  }
  const auto pages = StaticFiles::open(argv[1]);
  if (!pages) return examples::failed(argv[1], pages.error());
  Router router;
  router.get("/{path*}", *pages);
  // Quoted in docs: [https]
  const auto tls = TlsServerContext::make(
      {.certificates = {{.chain_file = argv[2], .key_file = argv[3]}}, .applications = {"http/1.1", "http/1.0"}});
  if (!tls) {
    fmt::print(stderr, "{}\n", tls.error());
    return 1;
  }
  Loop loop;
  HttpServer server(loop, std::move(router), {.layer = tls->get(), .hsts = HstsOptions{}});
  // End of quote: [https]
  const auto heard = loop.on_signal(SIGHUP, [&tls] {
    const TlsResult<void> done = (*tls)->reload();
    fmt::print(stderr, "{}\n", done ? "the certificate was read anew" : done.error());
  });
  if (!heard) return examples::failed("cannot handle SIGHUP", heard.error());
  return examples::listen(server.server(), examples::argument(argc, argv, 4, "127.0.0.1:8443")) ? examples::run(loop)
                                                                                                : 1;
}
