// SPDX-License-Identifier: BSD-3-Clause
// Redirects all http requests to an https site: `to_https [ADDRESS [PORT [CHALLENGES]]]`. Run it on port 80 of the same
// machine. PORT is the port of the https site. If a request names a file in the folder CHALLENGES, the file is served
// instead. Programs such as certbot write such files, and a certificate authority asks for them before it issues a
// certificate (RFC 8555 8.3).

#include <examples/shared/service.h>

#include <peal/http/files/static_files.h>
#include <peal/http/server/http_server.h>
#include <peal/http/server/redirect_to_https.h>
#include <peal/wire/parse_text.h>

using namespace peal;

int main(int argc, char** argv) {
  const std::string port_text = examples::argument(argc, argv, 2, "443");
  const uint16_t port = parse_text<uint16_t>(port_text).value_or(0);
  if (port == 0) return examples::failed("the port " + port_text, std::make_error_code(std::errc::invalid_argument));
  Router router;
  if (const std::string folder = examples::argument(argc, argv, 3, ""); !folder.empty()) {
    const auto challenges = StaticFiles::open(folder);
    if (!challenges) return examples::failed("cannot serve " + folder, challenges.error());
    router.get("/.well-known/acme-challenge/{path*}", *challenges);
  }
  // Quoted in docs: [redirect]
  router.any("/{path*}", redirect_to_https(port));
  // End of quote: [redirect]
  Loop loop;
  HttpServer server(loop, std::move(router));
  return examples::listen(server.server(), examples::argument(argc, argv, 1, "127.0.0.1:8080")) ? examples::run(loop)
                                                                                                : 1;
}
