// SPDX-License-Identifier: BSD-3-Clause
// An HTTP server on uWebSockets: one uWS::App per thread, all on the same port, as in its HelloWorldThreaded. The
// library writes Date and Content-Length itself. UWS_HTTPRESPONSE_NO_WRITEMARK switches off the header that the library
// adds to advertise itself.
#include <App.h>

#include <string_view>

#include "contender_http.h"
#include "rival.h"

namespace {

using Response = uWS::HttpResponse<false>;

void write_headers(Response* response, uWS::HttpRequest* request) {
  const bool closes = request->getHeader("connection") == "close";
  response->writeHeader("Server", kHttpServer)
      ->writeHeader("Content-Type", kHttpType)
      ->writeHeader("Connection", closes ? "close" : "keep-alive");
}

void on_get(Response* response, uWS::HttpRequest* request) {
  write_headers(response, request);
  response->end(kHttpBody);
}

void on_head(Response* response, uWS::HttpRequest* request) {
  write_headers(response, request);
  response->endWithoutBody(sizeof kHttpBody - 1);
}

void on_other(Response* response, uWS::HttpRequest* request) {
  const std::string_view path = request->getUrl();
  response->writeStatus(http_is_page(path.data(), path.size()) ? "405 Method Not Allowed" : "404 Not Found");
  response->end({}, true);
}

void serve_thread(const rival_place* place) {
  uWS::App()
      .get("/", on_get)
      .get("/collect", on_get)
      .head("/", on_head)
      .head("/collect", on_head)
      .any("/*", on_other)
      .listen(place->host, place->port,
              [](us_listen_socket_t* listener) {
                if (listener == nullptr) fail("uWS::App::listen");
                rival_listens();
              })
      .run();
}

}  // namespace

int serve(const contender_options* options) { return rival_on_each_thread(options, serve_thread); }
