// SPDX-License-Identifier: BSD-3-Clause
// HttpCore: what the loops of one HttpServer share: the routes, the options and the access log. It is
// reference-counted: the server, the callbacks of its connections, and the coroutines that still run hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <peal/http/server/http_server_options.h>
#include <peal/http/server/http_stats.h>
#include <peal/http/server/parts/access_line.h>
#include <peal/http/server/parts/http_shard.h>
#include <peal/http/server/parts/route_tree.h>
#include <peal/http/server/router.h>

namespace peal::detail {

class HttpCore : public std::enable_shared_from_this<HttpCore> {
 public:
  // Throws the exceptions that HttpServer's constructors describe.
  HttpCore(Router router, const HttpServerOptions& options);

  // Adds a loop on which the server runs. Must be called before the server listens.
  void add(Loop& loop) { shards_.push_back(std::make_unique<HttpShard>(*this, loop)); }
  const std::vector<std::unique_ptr<HttpShard>>& shards() const { return shards_; }

  HttpShard& shard_of(const Loop& loop) const;

  // Returns the callbacks for the server's connections. The context of each connection is an HttpServerSession.
  SharedConnectionCallbacks callbacks();

  RouteTree& routes() { return *routes_; }
  const HttpServerOptions& options() const { return options_; }

  // Returns the field lines about the server that every answer has: Server and Strict-Transport-Security. Empty if the
  // options set neither.
  const std::string& own_lines() const { return own_lines_; }

  // Adds a line to the access log. `entry.date` is the date of `second`. If another loop has already logged a later
  // second, the line gets that later date, so that dates do not go back. Returns the number of bytes that wait to be
  // written. May be called on the thread of any of the server's loops.
  size_t log(AccessEntry entry, int64_t second);

  // Passes the waiting lines to HttpServerOptions::access_log. May be called on the thread of any of the server's
  // loops.
  void flush_log();

 private:
  const std::shared_ptr<RouteTree> routes_;
  const HttpServerOptions options_;
  std::string own_lines_;
  std::mutex lines_mutex_;
  std::string lines_;     // lines that wait; lines_mutex_ guards them and the next two members
  std::string log_date_;  // date of the last line
  int64_t log_second_ = 0;
  std::mutex log_mutex_;  // held while lines are written; taken before lines_mutex_
  std::string writing_;   // guarded by log_mutex_
  std::vector<std::unique_ptr<HttpShard>> shards_;
};

}  // namespace peal::detail
