// SPDX-License-Identifier: BSD-3-Clause
// What `peal serve http` serves: `/` and the REST endpoint `/collect` of EXPERIMENTS.md, both with 13 bytes, or a
// folder of files and nothing else.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include <cli/access_log_file.h>
#include <cli/command.h>
#include <peal/http/server/http_server.h>

namespace peal::cli {

struct HttpArguments {
  std::string root;           // empty: no files
  std::string cache_control;  // of files; empty: none
  std::string access_log;
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
};

void add_http_options(CLI::App& command, HttpArguments& words);

// Null: none is asked for.
std::expected<std::shared_ptr<AccessLogFile>, CommandTrouble> open_access_log(const HttpArguments& words);

// What is served and how, read from the words, accepting, its caps and the layer from `server`; or which word is wrong,
// or names a folder that cannot be used. Requests are written to `log`; null: nowhere.
struct HttpService {
  Router router;
  HttpServerOptions options;
};
std::expected<HttpService, CommandTrouble> read_http_service(const HttpArguments& words, const ServerOptions& server,
                                                             std::shared_ptr<AccessLogFile> log);

}  // namespace peal::cli
