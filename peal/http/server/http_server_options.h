// SPDX-License-Identifier: BSD-3-Clause
// HttpServerOptions: the settings of an HttpServer, each with its default and the reason for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/net/server.h>
#include <peal/wire/http/http_limits.h>

namespace peal {

// HstsOptions: contents of the field Strict-Transport-Security (RFC 6797). A browser that has received the field uses
// only https for this host during max_age. It does not let the user skip a warning about the host's certificate.
struct HstsOptions {
  std::chrono::seconds max_age = std::chrono::days(365);  // 0: browsers forget an earlier setting
  bool include_subdomains = false;                        // subdomains without TLS can then not be reached
  // True if browsers may put the host on their built-in list of https hosts (hstspreload.org), which protects a
  // client's first visit too. Removal from the list takes months. The list requires include_subdomains and a max_age of
  // at least a year, and so does the constructor of HttpServer.
  bool preload = false;
};

// The format of the lines of an access log. docs/http.md has an example of each.
enum class HttpAccessLogFormat : uint8_t {
  kCombined,  // the combined format of Apache and nginx
  // A JSON object on each line. Its members:
  //   - time: of the answer, to the second, as RFC 3339 writes it: "1994-11-06T08:49:37Z"
  //   - client: the address without the port, or "unix:"
  //   - method, target, version: of the request, such as "GET", "/a?b" and "HTTP/1.1"
  //   - status, bytes: of the answer, as numbers; `bytes` counts its body
  //   - duration_us: microseconds from the loop turn that read the head to the turn in which the answer was complete
  //   - referer, user_agent: fields of the request
  //   - request_id: the RequestId that is attached to the exchange, for example by request_ids()
  // A member that is not known is missing. `duration_us` is missing if the answer was complete in the same turn: the
  // loop's clock stands still during a turn, and the log reads no other clock.
  kJson,
};

struct HttpServerOptions {
  // Settings for accepting connections, as in ServerOptions.
  AcceptMode accept = AcceptMode::kReusePort;
  ListenOptions listen = {};
  size_t max_connections = 0;
  size_t max_connections_per_address = 0;

  // Limits of each connection, as in ConnectionOptions. The timeouts below replace those of ConnectionOptions: they
  // depend on the state of the request, and they cost an idle connection no memory.
  uint32_t high_water_bytes = ConnectionOptions().high_water_bytes;
  size_t output_limit_bytes = ConnectionOptions().output_limit_bytes;
  size_t input_limit_bytes = ConnectionOptions().input_limit_bytes;
  Duration linger_timeout = ConnectionOptions().linger_timeout;

  // Layer of the connections, such as TLS. With a layer this is an https server: HttpExchange::is_secure() is true. A
  // client that speaks HTTP without TLS gets an answer 400 without TLS, which says that this port speaks https.
  const StreamLayer* layer = nullptr;
  Duration handshake_timeout = ConnectionOptions().handshake_timeout;
  bool remember_peer = false;  // true stores the client's address when it connects; an access log implies it

  // Limits of heads, bodies and chunks.
  HttpLimits limits = {};

  // Value of the Server field. Empty, the default: answers have no Server field, since the field helps attackers more
  // than clients.
  std::string server_name = {};

  // Contents of the field Strict-Transport-Security, which every answer over a layer has. A server without a layer does
  // not send the field, because a third party on the network could have written it (RFC 6797 7.2). The options may
  // therefore be shared by a server with TLS and one without. nullopt, the default: the field is not sent, because the
  // field binds a whole host.
  std::optional<HstsOptions> hsts = {};

  // True if every answer that keeps the connection says `Connection: keep-alive`, as nginx does. False, the default:
  // only answers to HTTP/1.0 say so. HTTP/1.1 keeps a connection unless one side says `Connection: close` (RFC 9112
  // 9.3).
  bool says_keep_alive = false;

  // Time limit for the head of a request. It is counted from the first byte of the request; for the first request of a
  // connection, from the opening of the connection. Further bytes do not extend it, so a client that sends a byte now
  // and then gets 408. The default allows a packet to be lost twice.
  Duration head_timeout = std::chrono::seconds(15);

  // Time that a connection may be idle between two requests before the server closes it. The default is longer than a
  // reader needs for a page, and shorter than a forgotten browser tab stays open.
  Duration idle_timeout = std::chrono::seconds(60);

  // While a handler wants the body, at least min_body_bytes must arrive in each period of body_window, except in the
  // last one. Otherwise the server answers 408. Bytes are counted as the connection receives them, including TLS and
  // the framing of chunks. The slowest modem sends the default min_body_bytes in a second.
  Duration body_window = std::chrono::seconds(10);
  uint32_t min_body_bytes = 4096;

  // Limit of the time from the end of the head to the end of the body, however fast the body arrives. 0, the default:
  // only body_window and min_body_bytes limit the body.
  Duration body_timeout = {};

  // Time in which the handler must begin its answer. It is counted from the moment when the handler has received the
  // parts of the request that it asked for. If the time passes, the server answers 503, the exchange is abandoned, and
  // the handler's coroutine is cancelled. A stream that has begun has no limit. The default is longer than anyone waits
  // for a page; long polling needs more. 0: no limit.
  Duration answer_timeout = std::chrono::seconds(60);

  // Limit for clients that do not read. It applies to output above the high-water mark, and to an answer that is still
  // not sent completely when idle_timeout has passed. The client's kernel must then accept at least min_send_bytes in
  // each period of send_window, or the connection is reset. docs/http.md says how long such a client is tolerated.
  Duration send_window = std::chrono::seconds(20);
  uint32_t min_send_bytes = 4096;

  // Number of bytes of an unread body that the server reads and drops in order to keep the connection. If more bytes
  // are to come, the server closes the connection: above the default number a new connection is cheaper.
  uint64_t drain_limit_bytes = 64 * 1024;

  // Number of requests after which a connection is closed. 0, the default: no limit, because nothing in peal grows with
  // this number.
  uint32_t max_requests_per_connection = 0;

  // Time that a draining server leaves to requests that may already be on their way. A connection that has been idle
  // for this long is closed at once. Any other idle connection stays open for this time, and a request that arrives
  // meanwhile is answered. The default is longer than a round trip to a client.
  Duration drain_grace = std::chrono::seconds(1);

  // True, the default: exchanges are reused for later requests. False: each request allocates an exchange, which serves
  // to measure the benefit of reuse.
  bool pooled = true;

  // Called with lines of the access log, each with its newline. The server calls it when 32 KiB of lines have gathered,
  // and otherwise every second. The lines of all loops are in one order, with ascending dates unless the clock is set.
  // The callback runs on the threads of the loops, one call at a time. Empty, the default: no log.
  CopyableCallback<void(std::string_view lines)> access_log = {};
  HttpAccessLogFormat access_log_format = HttpAccessLogFormat::kCombined;
};

}  // namespace peal
