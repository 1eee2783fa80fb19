// SPDX-License-Identifier: BSD-3-Clause
// HttpServer: serves HTTP/1.1 and 1.0 (RFC 9110, RFC 9112) on one loop, or on every loop of a group.
//
//   peal::Router router;
//   router.get("/", [](peal::HttpExchange& exchange) { exchange.respond(200, "text/plain", "Hello, world!"); });
//   peal::HttpServer server(loop, std::move(router));
//   auto listening = server.listen("127.0.0.1:8080");
//
//   bytes ─► head ─► route ─► handler ─► body pieces ─► ... ─► answer complete ─► the next request
//
// Pipelined requests, which arrive together, are answered in their order, one at a time: the server reads the next
// request when the answer to the one before is complete. Answers that handlers give at once are sent together.
//
// This header includes all that a handler needs: the exchange, Task, Scope, sleep(), Buffer, open_file(),
// UpgradeHandler and the log.
//
// A client's error is answered with the status that RFC 9110 has for it, and the connection is closed. An HttpServer is
// used and destroyed as a Server is.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/log.h>
#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/http/server/http_server_options.h>
#include <peal/http/server/http_stats.h>
#include <peal/http/server/route_stats.h>
#include <peal/http/server/router.h>
#include <peal/loop/loop.h>
#include <peal/loop/loop_group.h>
#include <peal/net/file_range.h>
#include <peal/net/server.h>

namespace peal {

namespace detail {
class HttpCore;
}  // namespace detail

class HttpServer {
 public:
  // Both constructors make a server that answers requests by the routes of `router`, on one loop or on all loops of a
  // group. They throw std::invalid_argument if
  // - HttpRequestParser refuses options.limits;
  // - options.server_name has characters that a field must not have;
  // - the max_age of options.hsts is negative;
  // - options.hsts has preload, but not include_subdomains or not a max_age of at least a year.
  //
  // They throw std::logic_error if the router already serves another server.
  HttpServer(Loop& loop, Router router, const HttpServerOptions& options = {});
  HttpServer(LoopGroup& group, Router router, const HttpServerOptions& options = {});

  // Ends the server as ~Server does. Coroutines that still run are cancelled, and the destructor waits until they have
  // ended. It does not wait for coroutines that
  // - are in a shield() or in run_on();
  // - wait for an OnLoop or an AsyncPool that has begun their function;
  // - destroy the server themselves.
  //
  // Such a coroutine ends as soon as it can, at the latest when its loop ends. The exchange and the parts of the server
  // that it uses live until then.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Begin to listen at an address, or on a socket that already listens: see the same functions of Server. Port 0
  // chooses any free port.
  Result<SocketAddress> listen(std::string_view address) { return server_->listen(address); }
  Result<SocketAddress> listen(const SocketAddress& address) { return server_->listen(address); }
  Result<SocketAddress> listen(Fd listening, bool shared = false) {
    return server_->listen(std::move(listening), shared);
  }

  void stop_listening() { server_->stop_listening(); }

  // Ends the server in order: it accepts no further connections, closes idle ones
  // (HttpServerOptions::drain_grace), and completes the answers in progress. These answers say `Connection: close`. See
  // Server::drain().
  void drain(Duration deadline, Callback<void(const DrainReport&)> on_done) {
    server_->drain(deadline, std::move(on_done));
  }
  DrainReport drain_and_wait(Duration deadline) { return server_->drain_and_wait(deadline); }

  size_t connections() const { return server_->connections(); }

  // Returns the sum of the counters of all loops. Waits until each loop has reported its counters. Must not be called
  // on the thread of one of several loops: two such calls at the same time would wait for each other forever. Use
  // stats_views() there.
  HttpStats stats() const;

  // Returns one function for each loop, in the order of Server::views(). Each function returns the counters of its
  // loop. It must be called on the thread of that loop, and may outlive the server.
  std::vector<std::function<HttpStats()>> stats_views() const;

  // Begins to measure the requests of each route and to list the slowest ones (route_stats.h), on all loops. A second
  // call does nothing. To be called before listen(), or later by the thread that may use the server. It does not wait:
  // a loop of another thread begins in its next turn. A server that already serves measures the requests whose answers
  // are not complete, too. Measures the turns of the loops, as Loop::measure_turns() does.
  void measure_routes();

  // Returns one function for each loop, in the order of Server::views(). Each function returns the figures of its loop,
  // or empty ones if measure_routes() was not called. It must be called on the thread of that loop, and may outlive the
  // server.
  std::vector<std::function<RouteFigures()>> route_views() const;

  // Returns the underlying Server. It counts connections and has all functions that are not specific to HTTP.
  Server& server() { return *server_; }

 private:
  std::shared_ptr<detail::HttpCore> core_;
  std::unique_ptr<Server> server_;
};

}  // namespace peal
