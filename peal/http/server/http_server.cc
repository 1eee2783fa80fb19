// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/http_server.h>

#include <cerrno>

#include <peal/http/server/parts/http_core.h>
#include <peal/loop/on_loop.h>

namespace peal {

using detail::HttpCore;
using detail::HttpShard;

namespace {

// Answer to a client that speaks HTTP without TLS to a port with TLS.
constexpr std::string_view kClearAnswer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 37\r\nConnection: close\r\n\r\n"
    "This port speaks HTTPS: use https://\n";
static_assert(kClearAnswer.size() - kClearAnswer.find("\r\n\r\n") - 4 == 37, "its Content-Length");

// Returns the options of the underlying Server. They have no idle timeout and no minimum rate of input, because
// Http1Session watches both itself.
ServerOptions server_options(const HttpServerOptions& options) {
  return {.accept = options.accept,
          .listen = options.listen,
          .connection = {.high_water_bytes = options.high_water_bytes,
                         .when_output_is_full = WhenOutputIsFull::kReadOn,
                         .output_limit_bytes = options.output_limit_bytes,
                         .input_limit_bytes = options.input_limit_bytes,
                         .linger_timeout = options.linger_timeout,
                         .min_write_bytes = options.min_send_bytes,
                         .write_window = options.send_window,
                         .layer = options.layer,
                         .clear_answer = kClearAnswer,
                         .handshake_timeout = options.handshake_timeout,
                         .remember_peer = options.remember_peer || options.access_log != nullptr},
          .max_connections = options.max_connections,
          .max_connections_per_address = options.max_connections_per_address};
}

}  // namespace

HttpServer::HttpServer(Loop& loop, Router router, const HttpServerOptions& options)
    : core_(std::make_shared<HttpCore>(std::move(router), options)) {
  core_->add(loop);
  server_ = std::make_unique<Server>(loop, core_->callbacks(), server_options(options));
}

HttpServer::HttpServer(LoopGroup& group, Router router, const HttpServerOptions& options)
    : core_(std::make_shared<HttpCore>(std::move(router), options)) {
  for (size_t i = 0; i < group.size(); ++i) core_->add(group[i]);
  server_ = std::make_unique<Server>(group, core_->callbacks(), server_options(options));
}

HttpServer::~HttpServer() {
  server_.reset();
  for (const auto& shard : core_->shards()) detail::on_loop_or_after(*shard->mailbox(), [&] { shard->retire(); });
}

std::vector<std::function<HttpStats()>> HttpServer::stats_views() const {
  std::vector<std::function<HttpStats()>> views;
  for (const auto& shard : core_->shards())
    views.emplace_back([core = core_, &shard = *shard] { return shard.snapshot(); });
  return views;
}

void HttpServer::measure_routes() {
  for (const auto& shard : core_->shards()) {
    Mailbox& mailbox = *shard->mailbox();
    if (mailbox.reachable() != nullptr) {
      shard->measure_routes();
    } else {
      mailbox.insist([core = core_, &shard = *shard] { shard.measure_routes(); });
    }
  }
}

std::vector<std::function<RouteFigures()>> HttpServer::route_views() const {
  std::vector<std::function<RouteFigures()>> views;
  for (const auto& shard : core_->shards())
    views.emplace_back([core = core_, &shard = *shard] { return shard.route_figures(); });
  return views;
}

HttpStats HttpServer::stats() const {
  HttpStats sum;
  for (const auto& shard : core_->shards()) {
    detail::on_loop_or_after(*shard->mailbox(), [&] { sum += shard->snapshot(); });
  }
  return sum;
}

}  // namespace peal
