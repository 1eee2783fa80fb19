// SPDX-License-Identifier: BSD-3-Clause
// WebSocketClient connects to a WebSocket server (RFC 6455 4.1) and passes the open WebSocket to the application's
// callbacks. Deadlines, retries and reconnecting are those of Client (client.h).
//
//   peal::WebSocketClient client(loop, {.on_open = [](peal::WebSocket& socket) { socket.send_text("hello"); }});
//   auto connecting = client.connect("ws://example.com/chat");
//
// A wss:// URL needs WebSocketClientOptions::layer, for example TLS. The server must then prove that it is the host of
// the URL.
//
// All functions may be called on any thread; the callbacks are called on the loop. The client may be destroyed at any
// time, also inside its own callbacks; after that none of its callbacks begins. Destroying it on another thread while
// the loop runs waits for the loop's current turn.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <peal/base/callback.h>
#include <peal/http/websocket/websocket.h>
#include <peal/net/client.h>
#include <peal/wire/http/http_request_text.h>

namespace peal {

// If `client.retry.reconnect` is true, the client connects again in these cases, after delays that grow from `retry`'s
// first_delay to its longest_delay:
// - The server closes or resets the connection, or sends a Close frame, before or after the handshake.
// - The server does not answer the handshake or a ping in time.
// - The server answers the handshake with 502, 503 or 504.
// - The connection fails, reaches a limit of ConnectionOptions, or ends because a callback threw.
//
// The client does not connect again in these cases:
// - The server gives any other answer that does not accept the handshake.
// - The application calls stop(), or close() or abort() of the WebSocket.
// - A limit of WebSocketOptions, such as idle_timeout, ends the socket.
// - The server breaks the protocol.
//
// `client.retry.attempts` does not limit how often the client connects again. It limits how many attempts to connect
// (name lookup, TCP, TLS) may fail in a row before the client gives up. The default is 1. 0 sets no limit, for a client
// that has to wait while a server restarts.
struct WebSocketClientOptions {
  WebSocketOptions socket = {};

  // The subprotocols to offer, in order of preference.
  std::vector<std::string> protocols = {};

  // The value of the request's Origin field, for servers that require one. Not sent if empty.
  std::string origin = {};

  // Additional fields of the request, for example Authorization or Cookie.
  std::vector<HttpRequestField> fields = {};

  // The longest time from the opening of the connection to the server's final answer to the handshake. Interim answers
  // such as 103 (RFC 9110 15.2) do not extend this time.
  Duration handshake_timeout = std::chrono::seconds(10);

  // The layer for wss:// URLs. The layer must outlive the client. Null means that wss:// URLs are refused.
  const StreamLayer* layer = nullptr;

  // Options of the connections. client.connection.layer is used for ws:// URLs only.
  ClientOptions client = {};
};

// Says why an attempt did not lead to an open WebSocket.
struct WebSocketFailure {
  // - EPROTO: the server's answer did not accept the handshake, or was longer than 16 KiB.
  // - ETIMEDOUT: no answer arrived within handshake_timeout, or connecting took too long.
  // - ECONNRESET or another error of the connection: the connection ended before the answer arrived.
  // - Trouble::kLoopStopped: the loop ended.
  // - Otherwise the error with which Client failed to connect.
  std::error_code error;

  // The HTTP status of an answer that did not accept the handshake. 0 if no HTTP answer arrived. The status can be 101
  // if the answer is wrong in another part, such as Sec-WebSocket-Accept.
  int status = 0;

  std::string why;  // a phrase for logs

  // The next attempt begins after this time at the earliest. kNoRetry means that there will be no further attempt, and
  // that connect() may be called again.
  Duration next_attempt_in = Client::kNoRetry;
};

class WebSocketClient {
 public:
  // The function that is called on the loop after each attempt that failed.
  using Failed = Callback<void(const WebSocketFailure&)>;

  // `on_failed` may be unset. Throws std::invalid_argument if message_limit_bytes in options.socket, or window_bits,
  // level or least_bytes in options.socket.deflate, is out of range. This is so even if compression is not enabled.
  WebSocketClient(Loop& loop, WebSocketCallbacks callbacks, const WebSocketClientOptions& options = {},
                  Failed on_failed = {});
  ~WebSocketClient();
  WebSocketClient(const WebSocketClient&) = delete;
  WebSocketClient& operator=(const WebSocketClient&) = delete;

  // Starts connecting to "ws://host[:port]/path?query" or "wss://...". The scheme may be in upper case. Errors:
  // - EINVAL: `url` is not such a URL, or it has a fragment (RFC 6455 3) or a user name.
  // - EINVAL: an option cannot be sent in the request, for example a subprotocol that contains a space.
  // - EPROTONOSUPPORT: the URL begins with wss:// and options.layer is null.
  // - EALREADY: the last connect() is still in effect.
  // - Trouble::kLoopStopped: the loop has ended.
  //
  // A connect() is in effect until one of these:
  // - on_failed is called with next_attempt_in == kNoRetry;
  // - on_close is called and the client does not reconnect;
  // - stop() is called.
  // If the connection of the earlier connect() is still closing, the next connect() waits for the end of that
  // connection.
  Result<void> connect(std::string_view url);

  // Gives up connecting and reconnecting. Closes an open socket with kNormal. stop() causes no callback, except
  // on_close if a socket was open.
  void stop();

 private:
  class State;

  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<State> state_;
  const std::unique_ptr<Client> client_;
  const std::unique_ptr<Client> client_of_wss_;  // null if there is no layer
};

}  // namespace peal
