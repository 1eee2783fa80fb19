// SPDX-License-Identifier: BSD-3-Clause
// Serves a folder as a web site: `static_site FOLDER [ADDRESS]`.
// Browsers ask for a page each time they show it. If the page has not changed, the answer is a short 304. Browsers keep
// the files of /assets/ for a year without asking again. Such a file therefore needs a new name whenever its content
// changes. If a path does not exist, the answer is the site's own 404.html.
#include <examples/shared/service.h>

#include <peal/http/files/static_files.h>
#include <peal/http/server/http_server.h>

using namespace peal;

int main(int argc, char** argv) {
  const std::string folder = examples::argument(argc, argv, 1, ".");
  // Quoted in docs: [files]
  const auto pages = StaticFiles::open(folder, {.cache_control = "no-cache"});
  if (!pages) return examples::failed("cannot serve " + folder, pages.error());
  Router router;
  router.get("/{path*}", *pages);
  // End of quote: [files]
  if (const auto assets =
          StaticFiles::open(folder + "/assets", {.cache_control = "public, max-age=31536000, immutable"})) {
    router.get("/assets/{path*}", *assets);
  }
  std::string missing = "<!doctype html><title>Not here</title><h1>Not here</h1>\n";
  if (FILE* file = std::fopen((folder + "/404.html").c_str(), "re")) {
    missing.resize(64 * 1024);
    missing.resize(std::fread(missing.data(), 1, missing.size(), file));
    std::fclose(file);
  }
  router.error_page([missing](HttpExchange& exchange, int status) {
    if (status == 404) return exchange.respond(404, "text/html; charset=utf-8", missing);
    exchange.respond(status, "text/plain; charset=utf-8", fmt::format("Status {}\n", status));
  });
  Loop loop;
  HttpServer server(loop, std::move(router));
  return examples::listen(server.server(), examples::argument(argc, argv, 2, "127.0.0.1:8080")) ? examples::run(loop)
                                                                                                : 1;
}
