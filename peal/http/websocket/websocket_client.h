// SPDX-License-Identifier: BSD-3-Clause
// WebSocketClient: connects to a WebSocket server (RFC 6455 4.1), with the deadlines, retries and reconnecting of
// Client, and hands over a WebSocket.
//
//   peal::WebSocketClient client(loop, {.on_open = [](peal::WebSocket& socket) { socket.send_text("hello"); }});
//   auto connecting = client.connect("ws://example.com/chat");
//
// wss goes over WebSocketClientOptions::layer, TLS say, and the server must prove to be the URL's host. Used, and
// destroyed, as Client is.
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

// With `client.retry.reconnect` it connects anew, after ever longer delays, when the server goes away, falls silent or
// closes, be it before the handshake is done, and when it answers that with 502, 503 or 504. Any other answer that is
// no handshake is final, and so is an end that was asked for here: by the program, by a limit, or by a peer that breaks
// the protocol. `client.retry.attempts` bounds only attempts to connect (name, TCP, TLS) that fail in a row: the
// default is 1, so a client that shall wait for a server that restarts sets it to 0.
struct WebSocketClientOptions {
  WebSocketOptions socket = {};
  std::vector<std::string> protocols = {};                // subprotocols offered, the most wanted first
  std::string origin = {};                                // for servers that want one; browsers send their page's
  std::vector<HttpRequestField> fields = {};              // more of the request: Authorization, Cookie, ...
  Duration handshake_timeout = std::chrono::seconds(10);  // from the connection to the final answer (RFC 9110 15)
  const StreamLayer* layer = nullptr;                     // of wss; it outlives the client. Null: no wss
  ClientOptions client = {};                              // what is said there of a layer is for ws alone
};

// Why there is no WebSocket.
struct WebSocketFailure {
  std::error_code error;  // what connecting failed with; EPROTO: the handshake; ETIMEDOUT: it took too long
  int status = 0;         // what the server answered instead of 101; 0: nothing
  std::string why;        // a phrase
  Duration next_attempt_in = Client::kNoRetry;  // at the earliest; kNoRetry: never, and connect() may be called again
};

class WebSocketClient {
 public:
  using Failed = Callback<void(const WebSocketFailure&)>;

  WebSocketClient(Loop& loop, WebSocketCallbacks callbacks, const WebSocketClientOptions& options = {},
                  Failed on_failed = {});
  ~WebSocketClient();
  WebSocketClient(const WebSocketClient&) = delete;
  WebSocketClient& operator=(const WebSocketClient&) = delete;

  // Starts connecting to "ws://host[:port]/path?query", or wss://, the scheme in any case. EINVAL: no such URL (one
  // with a fragment is none: RFC 6455 3), or options that cannot be sent; EPROTONOSUPPORT: wss without a layer;
  // Trouble::kLoopStopped. EALREADY until it has ended: on_failed says that there is no next attempt, on_close comes
  // and nothing reconnects, or stop() was called. A connection that is still closing then is waited for.
  Result<void> connect(std::string_view url);
  // Gives up connecting and reconnecting; an open socket is closed with kNormal. Nothing is told but its on_close.
  void stop();

 private:
  class State;

  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<State> state_;
  const std::unique_ptr<Client> client_;
  const std::unique_ptr<Client> client_of_wss_;  // null: no layer
};

}  // namespace peal
