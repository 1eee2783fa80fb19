// SPDX-License-Identifier: BSD-3-Clause
// HttpCore: what the loops of one HttpServer share: the routes, the options, the access log. Counted: the server, the
// callbacks of its connections and the coroutines that still run hold it.
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
  HttpCore(Router router, const HttpServerOptions& options);

  void add(Loop& loop) { shards_.push_back(std::make_unique<HttpShard>(*this, loop)); }
  const std::vector<std::unique_ptr<HttpShard>>& shards() const { return shards_; }
  HttpShard& shard_of(const Loop& loop) const;
  // Those of each connection, whose context is an HttpServerSession.
  SharedConnectionCallbacks callbacks();

  RouteTree& routes() { return *routes_; }
  const HttpServerOptions& options() const { return options_; }
  // What every answer says of the server, as lines of a head; may be empty.
  const std::string& own_lines() const { return own_lines_; }
  // Adds a line to the access log, dated `second`, or, since dates never go back, the later one that another loop had.
  // Returns the bytes that wait. Any of the loops' threads.
  size_t log(AccessEntry entry, int64_t second);
  // Writes the lines that wait.
  void flush_log();

 private:
  const std::shared_ptr<RouteTree> routes_;
  const HttpServerOptions options_;
  std::string own_lines_;
  std::mutex lines_mutex_;
  std::string lines_;     // that wait; guarded by lines_mutex_, as are the next two
  std::string log_date_;  // the last line's
  int64_t log_second_ = 0;
  std::mutex log_mutex_;  // held while lines are written, taken before lines_mutex_
  std::string writing_;   // guarded by log_mutex_
  std::vector<std::unique_ptr<HttpShard>> shards_;
};

}  // namespace peal::detail
