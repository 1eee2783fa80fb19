// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/http_core.h>

#include <stdexcept>

#include <fmt/format.h>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/http/server/parts/http_carrier.h>
#include <peal/http/server/parts/http_server_session.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/http/http_request_parser.h>

namespace peal::detail {

namespace {

HttpServerSession& session_of(Connection& connection) { return connection.context<HttpServerSession>(); }

std::string hsts_line(const HstsOptions& options) {
  constexpr std::chrono::seconds kLeastPreloaded = std::chrono::days(365);
  if (options.max_age < std::chrono::seconds::zero())
    throw_bad_value("hsts.max_age is negative: {} s", options.max_age.count());
  if (options.preload && (!options.include_subdomains || options.max_age < kLeastPreloaded)) {
    throw_bad_value("hsts.preload needs include_subdomains and a max_age of at least a year");
  }
  return fmt::format("Strict-Transport-Security: max-age={}{}{}\r\n", options.max_age.count(),
                     options.include_subdomains ? "; includeSubDomains" : "", options.preload ? "; preload" : "");
}

}  // namespace

HttpCore::HttpCore(Router router, const HttpServerOptions& options)
    : routes_(std::move(router.owned_tree_)), options_(options) {
  if (!routes_ || routes_->sealed()) throw std::logic_error("the router was moved, or another server has taken it");
  // This is middleware, so that servers without such a log pay nothing for it.
  if (options.access_log && options.access_log_format == HttpAccessLogFormat::kJson) {
    routes_->root_group().middleware.emplace_front([](HttpExchange& exchange, HttpNext next) {
      HttpCarrier::of(exchange).note_begin();
      next(exchange);
    });
  }
  routes_->seal(HttpCarrier::answer_by_router);
  const HttpRequestParser judge(options_.limits);  // throws if it refuses the limits
  if (!is_sendable({"Server", options_.server_name})) {
    throw_bad_value("server_name '{}' cannot be sent in a Server field", options_.server_name);
  }
  if (!options_.server_name.empty()) own_lines_ = "Server: " + options_.server_name + "\r\n";
  if (!options_.hsts) return;
  const std::string hsts = hsts_line(*options_.hsts);
  if (options_.layer != nullptr) own_lines_ += hsts;
}

HttpShard& HttpCore::shard_of(const Loop& loop) const {
  for (const auto& shard : shards_) {
    if (&shard->loop() == &loop) return *shard;
  }
  PEAL_ASSERT(false, "a connection on none of the server's {} loops", shards_.size());
  std::abort();
}

SharedConnectionCallbacks HttpCore::callbacks() {
  SharedConnectionCallbacks callbacks;
  callbacks.on_open = [core = shared_from_this()](Connection& connection) {
    HttpShard& shard = core->shard_of(connection.loop());
    std::unique_ptr<HttpServerSession> session = shard.make_session(connection);
    shard.wait(*session, HttpWait::kHead);
    connection.adopt_context(std::move(session));
    connection.keep_context();
  };
  callbacks.on_message = [](Connection& connection, Buffer& input) { session_of(connection).received(input); };
  callbacks.on_writable = [](Connection& connection) { session_of(connection).writable(); };
  callbacks.on_peer_end = [](Connection& connection) { session_of(connection).peer_ended(); };
  callbacks.on_drain = [](Connection& connection) { session_of(connection).drain(); };
  callbacks.on_close = [](Connection& connection, CloseReason reason) { session_of(connection).closed(reason); };
  return callbacks;
}

size_t HttpCore::log(AccessEntry entry, int64_t second) {
  const std::lock_guard lock(lines_mutex_);
  // Number of seconds by which a loop's date may lag behind the latest date in the log. A larger difference means that
  // the clock was set.
  constexpr int64_t kMostLag = 10;
  if (second > log_second_ || second < log_second_ - kMostLag) {
    log_second_ = second;
    log_date_ = entry.date;
  }
  entry.date = log_date_;
  append_access_line(lines_, options_.access_log_format, entry);
  return lines_.size();
}

// Takes the waiting lines under their lock, but writes them without it, so that other loops can add lines meanwhile.
void HttpCore::flush_log() {
  const std::lock_guard lock(log_mutex_);
  writing_.clear();
  {
    const std::lock_guard waiting(lines_mutex_);
    writing_.swap(lines_);
  }
  if (!writing_.empty()) options_.access_log(writing_);
}

}  // namespace peal::detail
