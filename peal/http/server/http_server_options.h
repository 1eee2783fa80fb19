// SPDX-License-Identifier: BSD-3-Clause
// What an HttpServer may be told, each with its default and the reason for it.
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

// HTTP Strict Transport Security (RFC 6797): a browser that has had an answer with it goes to this host by https alone,
// for so long, and lets nobody click a warning about its certificate away.
struct HstsOptions {
  std::chrono::seconds max_age = std::chrono::days(365);  // 0: what was said before is to be forgotten
  bool include_subdomains = false;                        // those that are served without TLS cannot be reached then
  // May be built into browsers, for the first visit too (hstspreload.org). It takes months to get out of there; they
  // take it with include_subdomains and a year alone, and so does peal.
  bool preload = false;
};

struct HttpServerOptions {
  // Accepting and its caps, as ServerOptions has them.
  AcceptMode accept = AcceptMode::kReusePort;
  ListenOptions listen = {};
  size_t max_connections = 0;
  size_t max_connections_per_address = 0;
  // The connections, as ConnectionOptions has them. How long they may be idle or slow is said below, in HTTP's own
  // words: those know what a client is in the midst of, and cost an idle connection no memory.
  uint32_t high_water_bytes = ConnectionOptions().high_water_bytes;
  size_t output_limit_bytes = ConnectionOptions().output_limit_bytes;
  size_t input_limit_bytes = ConnectionOptions().input_limit_bytes;
  Duration linger_timeout = ConnectionOptions().linger_timeout;
  // With one, TLS say, this is an https server: HttpExchange::is_secure(). A client that speaks HTTP to it in the clear
  // is answered 400, in the clear, with a line that says so.
  const StreamLayer* layer = nullptr;
  Duration handshake_timeout = ConnectionOptions().handshake_timeout;
  bool remember_peer = false;  // an access log does in any case

  // Of heads, bodies and chunks.
  HttpLimits limits = {};
  // The value of the Server field; empty, the default: none is sent, since it tells attackers more than clients.
  std::string server_name = {};
  // In every answer over a layer, and in none without one, where whoever is in between could have written it (RFC 6797
  // 7.2): a plain server and one over TLS may have the same options. Empty, the default: it binds a whole host.
  std::optional<HstsOptions> hsts = {};
  // `Connection: keep-alive` in every answer after which it stays, as nginx does. Off, the default: only where the
  // client speaks HTTP/1.0; to 1.1 it goes without saying (RFC 9112 9.3).
  bool says_keep_alive = false;

  // From the first byte of a request (of the first one: from the opening of the connection) to the end of its head.
  // Bytes do not extend it: a client that drips is cut off (408). Twice a packet lost and sent again.
  Duration head_timeout = std::chrono::seconds(15);
  // Between two requests. Longer than a reader needs for a page, shorter than a forgotten browser tab.
  Duration idle_timeout = std::chrono::seconds(60);
  // While a body is wanted each window must bring so many bytes (408), the last one excepted: as they arrive, before
  // TLS or chunks are taken off. The slowest modem sends as much in a second.
  Duration body_window = std::chrono::seconds(10);
  uint32_t min_body_bytes = 4096;
  // From the end of the head to the end of the body, however fast it comes; 0: the rate above is enough of a bound.
  Duration body_timeout = {};
  // From when the handler has of the request what it asked for to when it begins the answer: else it is answered 503,
  // abandoned and, where it is a coroutine, cancelled. A stream that has begun is not bounded. Longer than anybody
  // waits for a page; who polls for longer raises it. 0: never.
  Duration answer_timeout = std::chrono::seconds(60);
  // While an answer waits for the client, from the high-water mark on or from the end of idle_timeout, its kernel must
  // take so many bytes in each window, or it is reset. docs/http.md says how long who does not read is borne with.
  Duration send_window = std::chrono::seconds(20);
  uint32_t min_send_bytes = 4096;

  // Of a body that the handler left unread, so much is read and dropped to keep the connection; with more to come it
  // closes: beyond this a new connection is cheaper.
  uint64_t drain_limit_bytes = 64 * 1024;
  // A connection closes after so many; 0: after any number, because nothing of peal's grows with it.
  uint32_t max_requests_per_connection = 0;

  // A server that drains closes connections that have been idle for so long at once; the others may have a request on
  // the way, which is still answered if it comes within this time. Longer than the way to a client and back.
  Duration drain_grace = std::chrono::seconds(1);

  // Exchanges are reused for later requests. If false, each request allocates one, to measure what reuse is worth.
  bool pooled = true;

  // Lines of the access log in the combined format, each with its newline, many at once: when 32 KiB have gathered and
  // every second. Those of all loops are in one order, in which no date goes back, unless the clock was set. Empty, the
  // default: no log. Called on the loops' threads, one at a time.
  CopyableCallback<void(std::string_view lines)> access_log = {};
};

}  // namespace peal
