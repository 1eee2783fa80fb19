// SPDX-License-Identifier: BSD-3-Clause
// muduo's own HTTP server, muduo::net::HttpServer, used as in its test. With several threads, one loop accepts and
// gives the connections to the loops of the other threads. With one thread, a single loop accepts and serves, as in
// muduo's ping-pong example. docs/contenders.md lists what cannot be changed.
#include <cstdio>

#include <muduo/base/Logging.h>
#include <muduo/net/EventLoop.h>
#include <muduo/net/InetAddress.h>
#include <muduo/net/http/HttpRequest.h>
#include <muduo/net/http/HttpResponse.h>
#include <muduo/net/http/HttpServer.h>

#include "contender_http.h"
#include "rival.h"

namespace {

using muduo::net::HttpRequest;
using muduo::net::HttpResponse;

void refuse(HttpResponse* response, int status, const char* reason) {
  response->setStatusCode(static_cast<HttpResponse::HttpStatusCode>(status));
  response->setStatusMessage(reason);
  response->setCloseConnection(true);
}

void on_request(const HttpRequest& request, HttpResponse* response) {
  const bool is_head = request.method() == HttpRequest::kHead;
  if (!is_head && request.method() != HttpRequest::kGet) {
    refuse(response, 405, "Method Not Allowed");
    return;
  }
  if (!http_is_page(request.path().data(), request.path().size())) {
    refuse(response, 404, "Not Found");
    return;
  }
  response->setStatusCode(HttpResponse::k200Ok);
  response->setStatusMessage("OK");
  response->setContentType(kHttpType);
  response->addHeader("Server", kHttpServer);
  response->addHeader("Date", http_date());
  // If the response closes the connection, muduo's HttpResponse writes no Content-Length. All servers must send the
  // same fields (see contender_http.h), so this code adds the field.
  if (response->closeConnection()) response->addHeader("Content-Length", kHttpBodySize);
  if (!is_head) response->setBody(kHttpBody);
}

// Writes one of muduo's log lines to stderr. By default muduo logs to stdout. The benchmark reads stdout and expects
// only the line with the server's address.
void log_to_stderr(const char* line, int size) { fwrite(line, 1, static_cast<size_t>(size), stderr); }

}  // namespace

int serve(const contender_options* options) {
  const rival_place place = rival_place_of(options);
  muduo::Logger::setLogLevel(muduo::Logger::WARN);
  muduo::Logger::setOutput(log_to_stderr);
  muduo::net::EventLoop loop;
  muduo::net::HttpServer server(&loop, muduo::net::InetAddress(place.host, static_cast<uint16_t>(place.port)), "http");
  server.setHttpCallback(on_request);
  if (options->threads > 1) server.setThreadNum(options->threads);
  server.start();
  rival_announce(&place);
  loop.loop();
  return 1;
}
