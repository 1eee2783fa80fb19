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

// HTTP Strict Transport Security (RFC 6797). A browser that has received the field uses only https for this host, for
// max_age. It does not let the user skip a warning about the host's certificate.
struct HstsOptions {
  std::chrono::seconds max_age = std::chrono::days(365);  // 0: browsers forget an earlier setting
  bool include_subdomains = false;                        // subdomains without TLS can then not be reached
  // True if the host may be built into browsers, which protects the first visit too (hstspreload.org). Removal from
  // that list takes months. The list requires include_subdomains and a max_age of a year, and so does peal.
  bool preload = false;
};

struct HttpServerOptions {
  // Accepting connections and its limits, as in ServerOptions.
  AcceptMode accept = AcceptMode::kReusePort;
  ListenOptions listen = {};
  size_t max_connections = 0;
  size_t max_connections_per_address = 0;

  // Limits of the connections, as in ConnectionOptions. The timeouts below replace those of ConnectionOptions: they
  // know what a client is in the middle of, and they cost an idle connection no memory.
  uint32_t high_water_bytes = ConnectionOptions().high_water_bytes;
  size_t output_limit_bytes = ConnectionOptions().output_limit_bytes;
  size_t input_limit_bytes = ConnectionOptions().input_limit_bytes;
  Duration linger_timeout = ConnectionOptions().linger_timeout;

  // Layer of the connections, such as TLS. With a layer this is an https server: HttpExchange::is_secure() is true. A
  // client that speaks HTTP without TLS is answered 400, without TLS, with a line that says so.
  const StreamLayer* layer = nullptr;
  Duration handshake_timeout = ConnectionOptions().handshake_timeout;
  bool remember_peer = false;  // true stores the client's address when it connects; an access log implies it

  // Limits of heads, bodies and chunks.
  HttpLimits limits = {};

  // Value of the Server field. Empty, the default: the field is not sent, since it helps attackers more than clients.
  std::string server_name = {};

  // Strict-Transport-Security, sent in every answer over a layer. A server without a layer does not send it, because a
  // third party on the network could have written it (RFC 6797 7.2). A plain server and one with TLS may therefore
  // share their options. nullopt is the default, because the field binds a whole host.
  std::optional<HstsOptions> hsts = {};

  // True if every answer that keeps the connection says `Connection: keep-alive`, as nginx does. False, the default:
  // only answers to HTTP/1.0 say so. With HTTP/1.1 connections are kept unless the peer says otherwise (RFC 9112 9.3).
  bool says_keep_alive = false;

  // Time from the first byte of a request to the end of its head; for the first request, from the opening of the
  // connection. Further bytes do not extend it, so that a client that sends a byte now and then gets 408. The default
  // allows for a packet that is lost and sent again, twice.
  Duration head_timeout = std::chrono::seconds(15);

  // Time that a connection may be idle between two requests. The default is longer than a reader needs for a page, and
  // shorter than a forgotten browser tab stays open.
  Duration idle_timeout = std::chrono::seconds(60);

  // While a handler wants the body, at least min_body_bytes must arrive in each body_window, the last one excepted.
  // Otherwise the server answers 408. Bytes are counted as the connection receives them, with TLS and chunk framing.
  // The slowest modem sends the default amount in a second.
  Duration body_window = std::chrono::seconds(10);
  uint32_t min_body_bytes = 4096;

  // Limit of the time from the end of the head to the end of the body, whatever the rate. 0, the default: the rate
  // above is enough.
  Duration body_timeout = {};

  // Time in which the handler must begin the answer, counted from when it has the parts of the request that it asked
  // for. Otherwise the server answers 503, the exchange is abandoned, and a coroutine is cancelled. A stream that has
  // begun has no limit. The default is longer than anyone waits for a page; long polling needs more. 0: no limit.
  Duration answer_timeout = std::chrono::seconds(60);

  // Limit for clients that do not read. It applies while the output is above the high-water mark, or after
  // idle_timeout. The client's kernel must then accept min_send_bytes in each send_window, or the connection is reset.
  // docs/http.md says how long such a client is tolerated.
  Duration send_window = std::chrono::seconds(20);
  uint32_t min_send_bytes = 4096;

  // Bytes of an unread body that the server reads and drops to keep the connection. If more is to come, it closes the
  // connection: beyond the default a new connection is cheaper.
  uint64_t drain_limit_bytes = 64 * 1024;

  // Requests after which a connection is closed. 0, the default: no limit, because nothing in peal grows with the
  // number.
  uint32_t max_requests_per_connection = 0;

  // Time for draining. A server that drains closes a connection at once if it has been idle for this long. On the
  // others a request may be on its way, and it is answered if it arrives within this time. The default is longer than a
  // round trip to a client.
  Duration drain_grace = std::chrono::seconds(1);

  // Exchanges are reused for later requests. If false, each request allocates one, to measure what reuse is worth.
  bool pooled = true;

  // Called with lines of the access log in the combined format, each with its newline. It is called when 32 KiB have
  // gathered, and every second. The lines of all loops are in one order, with ascending dates unless the clock is set.
  // Empty, the default: no log. Called on the threads of the loops, one call at a time.
  CopyableCallback<void(std::string_view lines)> access_log = {};
};

}  // namespace peal
