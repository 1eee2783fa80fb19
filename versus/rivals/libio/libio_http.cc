// SPDX-License-Identifier: BSD-3-Clause
// libio's http_multithread_server, as in its article. One thread accepts with select() and gives the connections in
// turn to worker threads. Each worker has a locked queue and an eventfd. The library writes the Date itself.
#include <string>

#include <http/http_connection.hh>
#include <http/http_multithread_server.hh>
#include <http/request.hh>

#include "contender_http.h"
#include "rival.h"

namespace {

constexpr auto kMethodNotAllowed = static_cast<wxg::http_code_t>(405);

void refuse(wxg::http_connection* connection, wxg::http_code_t code, const char* reason) {
  connection->send_reply(code, reason, std::string(reason));
}

void on_page(wxg::request* request, wxg::http_connection* connection) {
  if (request->type != wxg::GET && request->type != wxg::HEAD) {
    refuse(connection, kMethodNotAllowed, "Method Not Allowed");
    return;
  }
  wxg::buffer body;
  if (request->type == wxg::GET) body.push(std::string(kHttpBody));
  wxg::request answer;
  answer.set_response(wxg::HTTP_OK, "OK", &body);
  answer.set_header("Server", kHttpServer);
  answer.set_header("Content-Type", kHttpType);
  answer.set_header("Content-Length", kHttpBodySize);
  if (request->get_header("Connection") == "close") answer.set_header("Connection", "close");
  connection->send_request(&answer);
}

}  // namespace

int serve(const contender_options* options) {
  const rival_place place = rival_place_of(options);
  wxg::http_multithread_server server;
  server.resize(options->threads);
  server.set_request_handler("/", on_page);
  server.set_request_handler("/collect", on_page);
  server.set_general_handler(
      [](wxg::request*, wxg::http_connection* connection) { refuse(connection, wxg::HTTP_NOTFOUND, "Not Found"); });
  rival_announce_once_it_accepts(&place);
  server.start(place.host, static_cast<unsigned short>(place.port));
  return 1;
}
