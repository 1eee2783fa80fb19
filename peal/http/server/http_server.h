// SPDX-License-Identifier: BSD-3-Clause
// HttpServer: HTTP/1.1 and 1.0 (RFC 9110, RFC 9112) on one loop or on every loop of a group.
//
//   peal::Router router;
//   router.get("/", [](peal::HttpExchange& exchange) { exchange.respond(200, "text/plain", "Hello, world!"); });
//   peal::HttpServer server(loop, std::move(router));
//   auto listening = server.listen("127.0.0.1:8080");
//
//   bytes ─► head ─► route ─► handler ─► body pieces ─► ... ─► answer complete ─► the next request
//
// Requests that came together (pipelined) are answered in their order, one at a time: the next one is looked at when
// the answer before it is complete. Answers given at once leave together.
//
// This header brings all that a handler needs: the exchange, Task, Scope, sleep(), Buffer, open_file(), UpgradeHandler,
// the log.
//
// What a client does wrong is answered with the status that RFC 9110 has for it and the end of the connection. Used,
// and destroyed, as Server is.
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
  // std::invalid_argument: limits that HttpRequestParser does not take, a server_name that no field may hold, hsts of
  // a negative time, or to be preloaded without what that takes. std::logic_error: a router that serves another
  // already.
  HttpServer(Loop& loop, Router router, const HttpServerOptions& options = {});
  HttpServer(LoopGroup& group, Router router, const HttpServerOptions& options = {});
  // As ~Server. Coroutines that still run are cancelled and end before it returns, but for those in a shield(), in
  // run_on(), whose question (OnLoop) or job (AsyncPool) has begun, or that destroy it: they end when they can, at the
  // latest when their loop ends. What they use after that lives as long.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // As Server's. port 0: any free one.
  Result<SocketAddress> listen(std::string_view address) { return server_->listen(address); }
  Result<SocketAddress> listen(const SocketAddress& address) { return server_->listen(address); }
  Result<SocketAddress> listen(Fd listening, bool shared = false) {
    return server_->listen(std::move(listening), shared);
  }
  void stop_listening() { server_->stop_listening(); }
  // Ends in order: nobody new, idle connections close, answers under way are completed and say `Connection: close`.
  // See Server::drain.
  void drain(Duration deadline, Callback<void(const DrainReport&)> on_done) {
    server_->drain(deadline, std::move(on_done));
  }
  DrainReport drain_and_wait(Duration deadline) { return server_->drain_and_wait(deadline); }

  size_t connections() const { return server_->connections(); }
  // The sum over all loops; waits for each. Not on a thread of one of several: two that ask at once wait for each other
  // for ever. stats_views() are each loop's own.
  HttpStats stats() const;
  // One for each loop, in the order of Server::views(), to be called on its thread; they may outlive the server.
  std::vector<std::function<HttpStats()>> stats_views() const;
  // For its counters of connections, and what is not HTTP's own.
  Server& server() { return *server_; }

 private:
  std::shared_ptr<detail::HttpCore> core_;
  std::unique_ptr<Server> server_;
};

}  // namespace peal
