// SPDX-License-Identifier: BSD-3-Clause
// POCO's HTTP server, Poco::Net::HTTPServer. It gives every connection a thread of its pool for as long as the
// connection lives, so --threads can only say how many are kept ready; the pool grows to one per connection, as
// anything less would leave connections unserved. The headers are set by the program, in the order of the common
// answer.
#include <sys/resource.h>

#include <string>

#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServer.h>
#include <Poco/Net/HTTPServerParams.h>
#include <Poco/Net/HTTPServerRequest.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/ThreadPool.h>

#include "contender.h"
#include "contender_http.h"

namespace {

using Poco::Net::HTTPRequestHandler;
using Poco::Net::HTTPResponse;
using Poco::Net::HTTPServerRequest;
using Poco::Net::HTTPServerResponse;

constexpr int kMostThreads = 4096;

class PocoPage : public HTTPRequestHandler {
 public:
  void handleRequest(HTTPServerRequest& request, HTTPServerResponse& response) override {
    const std::string& method = request.getMethod();
    if (method != HTTPServerRequest::HTTP_GET && method != HTTPServerRequest::HTTP_HEAD) {
      refuse(response, HTTPResponse::HTTP_METHOD_NOT_ALLOWED);
    } else if (!http_is_page(request.getURI().data(), request.getURI().size())) {
      refuse(response, HTTPResponse::HTTP_NOT_FOUND);
    } else {
      const bool stays = response.getKeepAlive();
      response.clear();
      response.set("Server", kHttpServer);
      response.set("Date", http_date());
      response.set("Content-Type", kHttpType);
      response.set("Content-Length", kHttpBodySize);
      response.set("Connection", stays ? "keep-alive" : "close");
      response.sendBuffer(kHttpBody, sizeof kHttpBody - 1);
    }
  }

 private:
  static void refuse(HTTPServerResponse& response, HTTPResponse::HTTPStatus status) {
    response.setStatusAndReason(status);
    response.setContentLength(0);
    response.send();
  }
};

class PocoPages : public Poco::Net::HTTPRequestHandlerFactory {
 public:
  HTTPRequestHandler* createRequestHandler(const HTTPServerRequest&) override { return new PocoPage; }
};

}  // namespace

int serve(const contender_options* options) {
  const Poco::Net::SocketAddress address(reinterpret_cast<const sockaddr*>(&options->address), sizeof options->address);
  Poco::Net::ServerSocket listener;
  listener.bind(address, true);
  listener.listen(kContenderBacklog);
  listener.impl()->setNoDelay(true);
  Poco::ThreadPool pool(options->threads, kMostThreads);
  Poco::Net::HTTPServerParams::Ptr parameters = new Poco::Net::HTTPServerParams;
  parameters->setMaxThreads(kMostThreads);
  parameters->setMaxQueued(kMostThreads);
  parameters->setMaxKeepAliveRequests(0);  // no limit
  parameters->setKeepAliveTimeout(Poco::Timespan(Poco::Timespan::HOURS));
  Poco::Net::HTTPServer server(new PocoPages, pool, listener, parameters);
  server.start();
  announce(listener.impl()->sockfd());
  for (;;) Poco::Thread::sleep(kContenderRetryMs * 1000);
}
