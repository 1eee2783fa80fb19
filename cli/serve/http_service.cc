// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve/http_service.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <stdexcept>

#include <fmt/core.h>

#include <cli/choice.h>
#include <cli/number_option.h>
#include <cli/one_of.h>
#include <cli/time_option.h>
#include <peal/http/files/static_files.h>
#include <peal/http/middleware/cors.h>
#include <peal/http/middleware/rate_limiter.h>
#include <peal/http/middleware/request_ids.h>
#include <peal/wire/http/http_field.h>

namespace peal::cli {

namespace {

constexpr uint64_t kMostBodyBytes = INT64_MAX;  // no file can be larger
constexpr uint32_t kMostRate = 1'000'000'000;   // one request in each nanosecond
constexpr unsigned kMostMiddleware = 1000;      // the functions call each other, which takes space on the stack

void hello(HttpExchange& exchange) { exchange.respond(200, "text/plain", "Hello, World!"); }

// Adds middleware to the router. Middleware is a function that runs before the handler of each request. The option
// --middleware adds functions that do nothing, so that a user can measure what middleware costs. Other options add
// functions that set request ids, handle CORS or limit the rate of requests. Throws std::invalid_argument if the value
// of --cors cannot be used.
void add_middleware(const HttpArguments& words, HttpService& service) {
  for (unsigned i = 0; i < words.middleware; ++i) {
    service.router.use([](HttpExchange& exchange, HttpNext next) { next(exchange); });
  }
  if (words.request_ids) service.router.use(request_ids());
  if (!words.cors.empty()) service.router.use(cors({.origins = {words.cors}}));
  if (words.rate_limit > 0) {
    service.router.use(rate_limit(std::make_shared<RateLimiter>(RateLimiterOptions{.requests = words.rate_limit})));
    service.options.remember_peer = true;
  }
}

// True if `text` is a Cache-Control directive of a response (RFC 9111 5.2.2, RFC 5861, RFC 8246). Clients silently
// ignore a misspelled directive, so the server checks the directives when it starts.
bool is_cache_directive(std::string_view text) {
  constexpr std::array<std::string_view, 9> kAlone{"immutable", "must-revalidate",  "must-understand",
                                                   "no-cache",  "no-store",         "no-transform",
                                                   "private",   "proxy-revalidate", "public"};
  constexpr std::array<std::string_view, 4> kOfSeconds{"max-age", "s-maxage", "stale-if-error",
                                                       "stale-while-revalidate"};
  const size_t equals = text.find('=');
  if (equals == text.npos) return std::ranges::find(kAlone, text) != kAlone.end();
  const std::string_view seconds = text.substr(equals + 1);
  return std::ranges::find(kOfSeconds, text.substr(0, equals)) != kOfSeconds.end() && !seconds.empty() &&
         seconds.find_first_not_of("0123456789") == seconds.npos;
}

// Checks `text`, the value of a Cache-Control field. Returns the first wrong directive in quotation marks, or an empty
// text if all directives are right.
std::string wrong_cache_directive(std::string_view text) {
  for (const auto part : std::views::split(text, ',')) {
    std::string_view directive(part.begin(), part.end());
    directive.remove_prefix(std::min(directive.find_first_not_of(' '), directive.size()));
    directive = directive.substr(0, directive.find_last_not_of(' ') + 1);
    if (!is_cache_directive(directive)) return fmt::format("'{}'", directive);
  }
  return {};
}

std::unexpected<CommandTrouble> wrong(std::string sentence) {
  return std::unexpected<CommandTrouble>(std::move(sentence));
}
std::unexpected<CommandTrouble> unusable(std::string_view option, const std::string& path, std::string_view why) {
  return std::unexpected(CommandTrouble(kFailed, fmt::format("{} {}: {}", option, path, why)));
}

}  // namespace

void add_http_options(CLI::App& command, HttpArguments& words) {
  command.add_option("--root", words.root,
                     "Serve the files of this folder (default: no files, but 13 bytes at / and /collect)");
  command.add_option(
      "--cache-control", words.cache_control,
      "Value of the Cache-Control field in answers with files, such as 'public, max-age=3600' (default: no such "
      "field); needs --root");
  command.add_option("--access-log", words.access_log, "Append a line for each request to this file (default: no log)");
  command
      .add_option("--access-log-format", words.access_log_format,
                  "How --access-log writes a request: text is the combined log format, json an object for each line")
      ->capture_default_str()
      ->check(one_of({"text", "json"}));
  command
      .add_option("--head-timeout", words.head_timeout,
                  "How long the head of a request may take from its first byte to its last, such as 15s")
      ->capture_default_str();
  command
      .add_option("--idle-timeout", words.idle_timeout,
                  "Close a connection that is idle between two requests for this time, such as 60s; off: never")
      ->capture_default_str();
  add_number(command, "--body-limit", words.body_limit_bytes, uint64_t{0}, kMostBodyBytes,
             "Longest body of a request, in bytes; a longer one is answered with 413");
  add_number(command, "--requests-per-connection", words.requests_per_connection, uint32_t{0}, UINT32_MAX,
             "Close a connection after this number of requests; 0: no limit");
  command.add_option("--server-name", words.server_name,
                     "Value of the Server field in answers (default: no such field)");
  command.add_flag("--say-keep-alive", words.says_keep_alive,
                   "Send the field 'Connection: keep-alive' in all answers (default: only in answers to HTTP/1.0)");
  add_number(command, "--rate-limit", words.rate_limit, uint32_t{0}, kMostRate,
             "Requests a second that one client address may send; more are answered with 429; 0: no limit");
  command.add_option(
      "--cors", words.cors,
      "Origin whose web pages may read the answers; for example https://example.org, or * for any origin "
      "(default: none)");
  command.add_flag("--request-ids", words.request_ids, "Send the field X-Request-Id in answers");
  add_number(command, "--middleware", words.middleware, 0U, kMostMiddleware,
             "Number of functions that do nothing, put before the handlers to measure what middleware costs");
  add_choice<HttpMeasure>(
      command, "--measure", words.measure,
      {{"nothing", HttpMeasure::kNothing}, {"turns", HttpMeasure::kTurns}, {"routes", HttpMeasure::kRoutes}},
      "Measure how often each route is used and how long its requests take (routes), or only the turns of the loops "
      "(turns), to see what measuring costs; --inspect measures turns too");
  command.add_flag("--unpooled", words.unpooled,
                   "Allocate the memory of each connection and request instead of reusing it, to measure the benefit "
                   "of reuse");
}

std::expected<std::shared_ptr<AccessLogFile>, CommandTrouble> open_access_log(const HttpArguments& words) {
  if (words.access_log.empty()) return nullptr;
  auto log = AccessLogFile::open(words.access_log);
  if (!log) return unusable("--access-log", words.access_log, log.error());
  return std::move(*log);
}

std::expected<HttpService, CommandTrouble> read_http_service(const HttpArguments& words, const ServerOptions& server,
                                                             std::shared_ptr<AccessLogFile> log) {
  HttpService service;
  service.options.accept = server.accept;
  service.options.layer = server.connection.layer;
  service.options.handshake_timeout = server.connection.handshake_timeout;
  service.options.max_connections = server.max_connections;
  service.options.max_connections_per_address = server.max_connections_per_address;
  constexpr TimeOption kHead{.name = "--head-timeout", .takes = "a time such as 15s"};
  constexpr TimeOption kIdle{.name = "--idle-timeout", .takes = "a time such as 60s", .or_off = true};
  for (std::string trouble : {kHead.read(words.head_timeout, service.options.head_timeout),
                              kIdle.read(words.idle_timeout, service.options.idle_timeout)}) {
    if (!trouble.empty()) return wrong(std::move(trouble));
  }
  if (!is_sendable({"Server", words.server_name})) {
    return wrong(fmt::format("--server-name takes a text without control characters, not '{}'", words.server_name));
  }
  service.options.limits.body_bytes = words.body_limit_bytes;
  service.options.max_requests_per_connection = words.requests_per_connection;
  service.options.pooled = !words.unpooled;
  service.measure = words.measure;
  service.options.server_name = words.server_name;
  service.options.says_keep_alive = words.says_keep_alive;
  if (words.access_log_format == "json") {
    if (words.access_log.empty()) return wrong("--access-log-format json needs a log: give --access-log too");
    service.options.access_log_format = HttpAccessLogFormat::kJson;
  }
  if (log) service.options.access_log = [log = std::move(log)](std::string_view lines) { log->write(lines); };
  try {
    add_middleware(words, service);
  } catch (const std::invalid_argument& error) {
    return wrong(fmt::format("--cors: {}", error.what()));
  }
  if (!words.cache_control.empty()) {
    if (words.root.empty()) return wrong("--cache-control is only for files: give --root too");
    if (const std::string directive = wrong_cache_directive(words.cache_control); !directive.empty()) {
      return wrong(fmt::format("--cache-control takes directives such as no-cache or 'public, max-age=3600', not {}",
                               directive));
    }
  }
  if (words.root.empty()) {
    service.router.get("/", hello);
    service.router.get("/collect", hello);
    service.router.post("/collect", hello);
    return service;
  }
  Result<StaticFiles> files = StaticFiles::open(words.root, {.cache_control = words.cache_control});
  if (!files) return unusable("--root", words.root, files.error().message());
  service.router.get("/{path*}", *files);
  return service;
}

void begin_measuring(HttpServer& server, HttpMeasure measure) {
  if (measure == HttpMeasure::kRoutes) server.measure_routes();
  if (measure != HttpMeasure::kTurns) return;
  for (const ConnectionsView& view : server.server().views()) {
    view.mailbox()->insist([mailbox = view.mailbox()] {
      if (Loop* const loop = mailbox->here()) loop->measure_turns();
    });
  }
}

}  // namespace peal::cli
