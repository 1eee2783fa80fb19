// SPDX-License-Identifier: BSD-3-Clause
// The service of `peal serve http`. It answers requests for `/` and `/collect` with 13 bytes; load tests use these two
// paths. With --root it serves only the files of a folder.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include <cli/command.h>
#include <cli/serve/access_log_file.h>
#include <peal/http/server/http_server.h>

namespace peal::cli {

// What the server measures: nothing, the turns of its loops, or its routes and the turns.
enum class HttpMeasure : uint8_t { kNothing, kTurns, kRoutes };

struct HttpArguments {
  std::string root;           // the folder whose files are served; if empty, no files are served
  std::string cache_control;  // value of the Cache-Control field for files; if empty, files have no such field
  std::string access_log;
  std::string access_log_format = "text";  // or "json"
  std::string head_timeout = "15s";
  std::string idle_timeout = "60s";
  uint64_t body_limit_bytes = HttpLimits().body_bytes;
  uint32_t requests_per_connection = 0;
  std::string server_name;
  bool says_keep_alive = false;
  bool unpooled = false;
  uint32_t rate_limit = 0;
  std::string cors;
  bool request_ids = false;
  unsigned middleware = 0;
  HttpMeasure measure = HttpMeasure::kNothing;
};

void add_http_options(CLI::App& command, HttpArguments& words);

// Opens the file of --access-log. Returns null if this option was not given.
std::expected<std::shared_ptr<AccessLogFile>, CommandTrouble> open_access_log(const HttpArguments& words);

// The routes and the options for an HttpServer.
struct HttpService {
  Router router;
  HttpServerOptions options;
  HttpMeasure measure = HttpMeasure::kNothing;
};
// Makes the service from the options. Takes from `server` how connections are accepted, how many are allowed, and
// whether they use TLS. Each request is logged to `log`, unless `log` is null. Fails if an option is wrong, or if the
// folder of --root cannot be used.
std::expected<HttpService, CommandTrouble> read_http_service(const HttpArguments& words, const ServerOptions& server,
                                                             std::shared_ptr<AccessLogFile> log);

// Makes the server measure what `measure` says.
void begin_measuring(HttpServer& server, HttpMeasure measure);

}  // namespace peal::cli
